/** Output of `svc nodes ...`. Pure. */
import { table, time, visible } from "@svc/sdk/cli";
import type { NodeView, PendingNode } from "@svc/sdk/nodes";

/** Characters of an id in a table; commands accept such a prefix if it is unique. */
const ID_CHARS = 12;

/** A table with one line per node. */
export function listLines(nodes: readonly NodeView[]): string[] {
  if (nodes.length === 0) {
    return ["no node is paired; on the machine to add: svc node run, then here: svc nodes approve"];
  }
  const rows = nodes.map(({ nodeId, displayName = "", platform = "", connected, commands, pendingCommands = [] }) => [
    visible(displayName === "" ? "-" : displayName),
    visible(nodeId.slice(0, ID_CHARS)),
    connected ? "connected" : "offline",
    visible(platform === "" ? "-" : platform),
    connected ? String(commands.length) : "-",
    pendingCommands.length === 0 ? "" : `${pendingCommands.length} wait: svc devices list`,
  ]);
  return table([["NAME", "ID", "STATE", "PLATFORM", "COMMANDS", "NOTE"], ...rows]);
}

/** One line per field. */
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

/** Pending nodes, each with the command that approves it. */
export function pendingLines(pending: readonly PendingNode[]): string[] {
  if (pending.length === 0) return ["no node waits for an approval; a new one requests it with: svc node run"];
  return pending.flatMap(({ requestId, nodeId, displayName, platform, remoteIp, commands = [], isRepair }) => [
    visible(
      `${displayName ?? nodeId.slice(0, ID_CHARS)} (${platform ?? "unknown"}${remoteIp === undefined ? "" : `, from ${remoteIp}`})${isRepair ? ", paired before" : ""}`,
    ),
    `  commands: ${visible(commands.join(" ") || "none")}`,
    `  approve:  svc nodes approve ${visible(requestId)}`,
  ]);
}

/** A string line by line; any other value as JSON. */
export function payloadLines(payload: unknown): string[] {
  const text = typeof payload === "string" ? payload : (JSON.stringify(payload, null, 2) ?? "done, without a result");
  return text.split(/\r?\n/).map(visible);
}
