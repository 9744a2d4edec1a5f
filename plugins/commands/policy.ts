/** `/activation`, `/send` and `/subagents`: when the agent answers here, and what it has running. */
import { invalidRequest, type ResultOf } from "@svc/sdk";
import { commandText } from "@svc/sdk/cli";
import type { ChatCommandCall } from "@svc/sdk/commands";
import { sessions } from "@svc/sdk/sessions";
import { answering, chosen, type CommandSources, type CommandTable, entryOf, need, patchSession } from "./sources.ts";

const GROUP_KEY = /:(?:group|channel):/;
const POLICY_WORDS = { on: "allow", off: "deny", default: null } as const;
/** Choice: sub-sessions that are searched for runs, newest first. */
const MAX_SEARCHED = 200;
/** Choice: stops that are remembered, so that a repeated message stops nothing else. After a crash no sub-run is left. */
const MAX_REMEMBERED = 100;

export function policyCommands(sources: CommandSources): CommandTable {
  const stops = new Map<string, string>();
  return {
    activation: {
      summary: "show or set whether the agent reads only messages of this group that mention it, or all",
      usage: "[mention|always]",
      ...answering((call) => activation(sources, call)),
    },
    send: {
      summary: "show or set whether messages can be sent in this conversation",
      usage: "[on|off|default]",
      scope: "operator.admin",
      ...answering((call) => send(sources, call)),
    },
    subagents: {
      summary: "list the sub-agents at work for this conversation, or stop one",
      usage: "[list|stop <number>]",
      ...answering((call) => subagents(sources, call, stops)),
    },
  };
}

async function activation(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  const { chatType, groupId, groupActivation } = await entryOf(sources, call);
  const isGroup = chatType === "group" || chatType === "channel" || groupId !== undefined;
  if (!isGroup && !GROUP_KEY.test(call.sessionKey))
    invalidRequest("/activation is for groups: in a direct chat the agent reads every message");
  if (call.text === "")
    return `Activation: ${typeof groupActivation === "string" ? groupActivation : "as configured"}.`;
  const mode = chosen(call, ["mention", "always"]);
  await patchSession(sources, call, { groupActivation: mode });
  return `Activation: ${mode}.`;
}

async function send(sources: CommandSources, call: ChatCommandCall): Promise<string> {
  if (call.text === "") {
    const known = need(sources.sessions, "sessions", call);
    const entry = await known.get(call.sessionKey);
    const word = known.sendPolicy(call.sessionKey, entry) === "allow" ? "on" : "off";
    return `Sending: ${word}${entry?.sendPolicy === undefined ? " (default)" : ""}.`;
  }
  const word = chosen(call, ["on", "off", "default"]);
  await patchSession(sources, call, { sendPolicy: POLICY_WORDS[word] });
  if (word !== "off") return `Sending: ${word}.`;
  // From now on this conversation refuses commands, too.
  return `Sending: off. To turn it on again: ${commandText(["svc", "sessions", "patch", call.sessionKey, "--send-policy", "allow"])}`;
}

interface Subrun {
  readonly runId: string;
  readonly label: string;
}

/** The sub-runs of the session that wait or run, the oldest first. */
async function subruns(sources: CommandSources, call: ChatCommandCall): Promise<readonly Subrun[]> {
  need(sources.sessions, "sessions", call);
  const runs = need(sources.runs, "agents", call);
  const found: ResultOf<typeof sessions.list> = await sources.call(sessions.list, {
    spawnedBy: call.sessionKey,
    limit: MAX_SEARCHED,
  });
  return found.sessions
    .flatMap(({ key, label }) => runs.active(key).map((run) => ({ ...run, label: label ?? key })))
    .toSorted(
      (left, right) =>
        (left.startedAt ?? Infinity) - (right.startedAt ?? Infinity) || (left.runId < right.runId ? -1 : 1),
    );
}

async function subagents(sources: CommandSources, call: ChatCommandCall, stops: Map<string, string>): Promise<string> {
  const stopped = stops.get(call.runId);
  if (stopped !== undefined) return stopped;
  const found = await subruns(sources, call);
  if (call.text === "" || call.text.toLowerCase() === "list") {
    if (found.length === 0) return "No sub-agent is at work for this conversation.";
    return found.map(({ label }, index) => `${index + 1}. ${label}`).join("\n");
  }
  const [, number] = /^stop\s+(\d{1,4})$/i.exec(call.text) ?? [];
  if (number === undefined) return invalidRequest("/subagents knows list and stop <number>");
  const wanted =
    found[Number(number) - 1] ??
    invalidRequest(`there is no sub-agent number ${number}; /subagents lists ${found.length}`);
  const isStopped = need(sources.runs, "agents", call).abort(wanted.runId, "stop");
  const reply = isStopped ? `Stopped ${wanted.label}.` : `${wanted.label} had already ended.`;
  const [oldest] = stops.keys();
  if (stops.size >= MAX_REMEMBERED && oldest !== undefined) stops.delete(oldest);
  stops.set(call.runId, reply);
  return reply;
}
