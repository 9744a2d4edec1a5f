/** Passes questions of gates to the service `Approver`, if a plugin provides it. */
import type { Denial } from "@svc/sdk";
import type { ApprovalAnswer, Approver } from "@svc/sdk/gateway";
import type { AskPeople } from "./hook-bus.ts";

/** @param find returns the current service. @param failed called with what the service throws */
export function createQuestions(
  find: () => Approver | undefined,
  failed: (error: unknown, plugin: string) => void,
): AskPeople {
  return async ({ plugin, ask, hook, key, signal }) => {
    const approver = find();
    if (!approver)
      return denied(`plugin ${plugin} requires a person's approval, but no plugin that asks people is running`);
    const { title, subject, agentId, sessionKey, timeoutMs } = ask;
    const kind = key === undefined ? hook : `${hook}:${key}`;
    try {
      const question = { title, subject, kind, askedBy: plugin, agentId, sessionKey, timeoutMs, signal };
      return denialOf(await approver.ask(question));
    } catch (error) {
      failed(error, plugin);
      return denied("it requires a person's approval, but the request for it failed; see the log");
    }
  };
}

/** Only an explicit decision to allow passes. */
function denialOf({ id, decision, reason }: ApprovalAnswer): Denial | undefined {
  if (decision === "allow-once" || decision === "allow-always") return undefined;
  const why = decision === "deny" ? "a person denied it" : (reason ?? "it was not approved in time");
  return denied(`${why} (approval ${id})`);
}

function denied(reason: string): Denial {
  return { allow: false, reason };
}
