/** Which agents have heartbeats, how often and in which session, from the current configuration. Reads only. */
import { isGatewayError } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { HeartbeatSettings, HeartbeatView } from "@svc/sdk/heartbeat";
import { ownSessionKey, type Sessions } from "@svc/sdk/sessions";
import { everyMsOf } from "./interval.ts";
import { DEFAULT_PROMPT } from "./prompts.ts";
import type { Beating } from "./schedule.ts";

/** Agents with heartbeats. */
export function beating(agents: Pick<AgentDirectory, "list" | "heartbeat">): readonly Beating[] {
  return agents.list().flatMap(({ id }) => {
    const settings = agents.heartbeat(id);
    const everyMs = settings ? everyMsOf(settings.every) : null;
    return everyMs === null ? [] : [{ agentId: id, everyMs }];
  });
}

/** The session of an agent's heartbeats; the main session if the setting is malformed or names another agent's session. */
export function sessionOf(
  agentId: string,
  settings: Pick<HeartbeatSettings, "session"> | undefined,
  sessions: Pick<Sessions, "canonicalKey" | "agentOf">,
): string {
  try {
    const key = sessions.canonicalKey(ownSessionKey(settings?.session ?? "", agentId));
    if (key === "global" || sessions.agentOf(key) === agentId) return key;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
  }
  return sessions.canonicalKey(ownSessionKey("", agentId));
}

/** The settings as `health` and `status` show them. */
export function viewOf(settings: HeartbeatSettings | undefined, isOn: boolean): HeartbeatView {
  const everyMs = settings ? everyMsOf(settings.every) : null;
  const enabled = isOn && everyMs !== null;
  return {
    enabled,
    every: enabled ? (settings?.every ?? "0m") : "0m",
    everyMs: enabled ? everyMs : null,
    prompt: settings?.prompt ?? DEFAULT_PROMPT,
    target: settings?.target ?? "none",
    ...(settings?.model === undefined ? {} : { model: settings.model }),
    ackMaxChars: settings?.ackMaxChars ?? 0,
  };
}
