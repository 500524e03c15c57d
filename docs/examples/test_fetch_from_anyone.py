from fetch_from_anyone import MACHINE, PROPERTIES


def test_two_brokers_keep_what_is_committed(fencepost):
    fencepost.check(MACHINE, PROPERTIES, replicas=2, violated={"epochs-never-fall-in-a-log": 11})


def test_the_fence_of_kip_320_keeps_epochs_in_order(fencepost):
    fencepost.check("kip320", replicas=2)


def test_the_history_is_still_a_violation(fencepost):
    fencepost.replay("epochs-fall.trace", model="fetch_from_anyone.py")
