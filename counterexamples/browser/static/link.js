// Permanent links: `#replication?version=kafka-4.1&brokers=3&steps=...`, as in links.py.
const OWN = ["version", "start", "removed", "steps"];

export function parse(hash) {
  const text = hash.replace(/^#/, "");
  const file = /^(trace|story)=([^&]*)(?:&at=(\d+))?$/.exec(text);
  if (file) return { [file[1]]: decodeURIComponent(file[2].replace(/\+/g, " ")), at: Number(file[3] || 0) };
  const [protocol, asked = ""] = split(text, "?");
  const link = { protocol: decodeURIComponent(protocol), version: "", start: "", constants: {}, removed: [], steps: [] };
  for (const [key, value] of new URLSearchParams(asked)) {
    if (key === "removed") link.removed = pieces(value, ",");
    else if (key === "steps") link.steps = pieces(value, ";");
    else if (OWN.includes(key)) link[key] = value;
    else link.constants[key] = value;
  }
  return link;
}

export function compose(link) {
  const pairs = [["version", link.version], ...Object.entries(link.constants), ["removed", link.removed.join(",")],
    ["start", link.start], ["steps", link.steps.join(";")]];
  const asked = pairs.filter(([, value]) => value).map(([key, value]) => `${key}=${encoded(value)}`).join("&");
  return `#${link.protocol}${asked ? "?" + asked : ""}`;
}

const encoded = text => encodeURIComponent(text).replace(/%20/g, "+").replace(/%3D|%3B|%2C|%3A|%7B|%7D|%5B|%5D/g, decodeURIComponent);
const pieces = (text, sign) => text.split(sign).map(item => item.trim()).filter(Boolean);
const split = (text, sign) => text.includes(sign) ? [text.slice(0, text.indexOf(sign)), text.slice(text.indexOf(sign) + 1)] : [text];
