/** Last part of the guided setup: a message to the agent, and its answer. */
import { randomUUID } from "node:crypto";
import type { AgentRuns } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { SetupCall, SetupPart, SetupStep } from "@svc/sdk/wizard";

/** Choice: milliseconds to wait for the answer; less than a part has. */
const ANSWER_MS = 240_000;
const GREETING = "What can you do?"; // the offline responder understands it, too

export interface FirstMessageSources {
  readonly sessions: Pick<Sessions, "defaults">;
  readonly runs: Pick<AgentRuns, "start" | "wait" | "abort">;
}

type State = { readonly at: "message" } | { readonly at: "failed" } | { readonly at: "answered" };

export function createFirstMessagePart({ sessions, runs }: FirstMessageSources): Pick<SetupPart, "start" | "next"> {
  async function send(message: string, { principal }: SetupCall): Promise<SetupStep> {
    const runId = randomUUID();
    const sessionKey = sessions.defaults().mainSessionKey;
    await runs.start({ runId, sessionKey, message, principal, source: "chat", timeoutMs: ANSWER_MS });
    const outcome = await runs.wait(runId, ANSWER_MS);
    if (!outcome) runs.abort(runId, "timeout");
    if (outcome?.status === "ok") return answered(outcome.text);
    return failed(outcome?.errorMessage ?? outcome?.abortReason ?? `no answer within ${ANSWER_MS / 60_000} minutes`);
  }

  return {
    start: async () => ask(),
    async next(call) {
      switch ((call.state as State).at) {
        case "message": {
          const message = String(call.answer ?? "").trim();
          return message === "" ? { done: true, message: "First message: skipped." } : send(message, call);
        }
        case "failed":
          return call.answer === "repeat"
            ? ask()
            : { done: true, message: "The agent has not answered a message yet." };
        case "answered":
          return { done: true };
      }
    },
  };
}

function ask(): SetupStep {
  const message = "Send the agent a first message. Empty: none.";
  return { ask: { kind: "text", message, initial: GREETING }, state: { at: "message" } satisfies State };
}

function answered(text: string): SetupStep {
  const message = text.trim() === "" ? "The agent answered without a text." : `The agent answers:\n\n${text}`;
  return { ask: { kind: "note", message }, state: { at: "answered" } satisfies State };
}

function failed(reason: string): SetupStep {
  const options = [
    { value: "repeat", label: "Try again" },
    { value: "skip", label: "Finish without an answer" },
  ];
  const message = `The agent did not answer: ${reason}`;
  return { ask: { kind: "select", message, options, initial: "skip" }, state: { at: "failed" } satisfies State };
}
