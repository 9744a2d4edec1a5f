/** What `svc nodes ...` prints for people. Pure. */
import type { NodeView, PendingNode } from "@svc/sdk";

/** Control characters and those that turn the direction of writing: what comes from a node must not steer a terminal. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const STEERING = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Characters of an id in a table, enough to name it by. */
const ID_CHARS = 12;

/** One line; what steers a terminal becomes visible, e.g. `\u001b`. */
export function visible(text: string): string {
  return text.replace(STEERING, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A line a node. */
export function listLines(nodes: readonly NodeView[]): string[] {
  if (nodes.length === 0) {
    return ["no node is paired; on the machine that is to be one: svc node run, then here: svc nodes approve"];
  }
  const rows = nodes.map(({ nodeId, displayName = "", platform = "", connected, commands, pendingCommands = [] }) => [
    visible(displayName === "" ? "-" : displayName),
    visible(nodeId.slice(0, ID_CHARS)),
    connected ? "connected" : "away",
    visible(platform === "" ? "-" : platform),
    connected ? String(commands.length) : "-",
    pendingCommands.length === 0 ? "" : `${pendingCommands.length} wait: svc devices list`,
  ]);
  return table([["NAME", "ID", "STATE", "PLATFORM", "COMMANDS", "NOTE"], ...rows]);
}

/** A line a field. */
export function describeLines(node: NodeView): string[] {
  const { caps, commands, pendingCommands = [], permissions = {}, connectedAtMs, ...rest } = node;
  const fields: [string, string][] = [
    ...Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
    ...(connectedAtMs === undefined ? [] : [["connected since", time(connectedAtMs)] as [string, string]]),
    ["caps", caps.join(" ") || "-"],
    ["commands", commands.join(" ") || "-"],
    ...Object.entries(permissions).map(([name, is]): [string, string] => [`may ${name}`, is ? "yes" : "no"]),
  ];
  const width = Math.max(...fields.map(([name]) => visible(name).length));
  const wait = pendingCommands.length === 0 ? [] : [`waiting for an approval: ${visible(pendingCommands.join(" "))}`];
  return [
    ...fields.map(([name, value]) => `${visible(name).padEnd(width)}  ${visible(value)}`),
    ...wait,
    ...(wait.length > 0 ? ["Next: svc devices list"] : []),
    ...(node.connected ? [] : ["Next: start it on its machine: svc node run"]),
  ];
}

/** Who waits, and the command that lets each in. */
export function pendingLines(pending: readonly PendingNode[]): string[] {
  if (pending.length === 0) return ["no node waits for an approval; a new one asks when it runs: svc node run"];
  return pending.flatMap(({ requestId, nodeId, displayName, platform, remoteIp, commands = [], isRepair }) => [
    visible(
      `${displayName ?? nodeId.slice(0, ID_CHARS)} (${platform ?? "unknown"}${remoteIp === undefined ? "" : `, from ${remoteIp}`})${isRepair ? ", paired before" : ""}`,
    ),
    `  would offer: ${visible(commands.join(" ") || "nothing")}`,
    `  let it in: svc nodes approve ${visible(requestId)}`,
  ]);
}

/** A text as it is, its lines kept; anything else as JSON. */
export function payloadLines(payload: unknown): string[] {
  const text = typeof payload === "string" ? payload : (JSON.stringify(payload, null, 2) ?? "done, without an answer");
  return text.split(/\r?\n/).map(visible);
}

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** UTC, to the second. @param ms epoch ms */
function time(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace(/\.\d+/, "");
}
