/** Whose heart beats, how often and where, as the configuration says it now. Reads only. */
import { isGatewayError } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { HeartbeatSettings, HeartbeatView } from "@svc/sdk/heartbeat";
import { ownSessionKey, type Sessions } from "@svc/sdk/sessions";
import { everyMsOf } from "./interval.ts";
import { DEFAULT_PROMPT } from "./prompts.ts";
import type { Beating } from "./schedule.ts";

/** Agents whose heart beats. */
export function beating(agents: Pick<AgentDirectory, "list" | "heartbeat">): readonly Beating[] {
  return agents.list().flatMap(({ id }) => {
    const settings = agents.heartbeat(id);
    const everyMs = settings ? everyMsOf(settings.every) : null;
    return everyMs === null ? [] : [{ agentId: id, everyMs }];
  });
}

/** The session in which an agent's heart beats; one of another agent, or a malformed one, is the main session. */
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

/** As health and status show it. */
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
