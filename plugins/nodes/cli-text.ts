/** What `svc nodes ...` prints for people. Pure. */
import { table, time, visible } from "@svc/sdk/cli";
import type { NodeView, PendingNode } from "@svc/sdk/nodes";

/** Characters of an id in a table, enough to name it by. */
const ID_CHARS = 12;

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
