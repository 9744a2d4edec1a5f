/** Does what a person asks the gateway itself for in a chat, as `chat.send` does. Spec: protocol/methods-chat.md §2. */
import { commandIn, obey } from "@svc/kit/chat-commands";
import { isGatewayError } from "@svc/sdk";
import type { AgentRuns, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { AcceptedMessage } from "./inbound-store.ts";

/** What is left to do: tell the person `reply`, or start a run. */
export type Obeyed = { readonly reply: string } | Beginning;

/** A run that is to be started. */
export interface Beginning {
  readonly run: Pick<RunRequest, "compact">;
  /** Resets the session first. May be called again: does it once. */
  readonly restart?: () => Promise<void>;
}

/** @param now epoch ms. @throws GatewayError `UNAVAILABLE` it may work later */
export async function obeyCommand(
  { sessionKey, runId, job }: AcceptedMessage,
  { runs, sessions }: { readonly runs: Pick<AgentRuns, "state" | "active" | "abort">; readonly sessions: Sessions },
  now: number,
): Promise<Obeyed> {
  const command = readCommand(job.command ?? "");
  if (command === undefined) return { run: {} };
  if ("reply" in command) return command;
  if (command.kind === "compact") return { run: { compact: command.instructions } };
  if (await runs.state(runId)) return { run: {} }; // it was obeyed before a restart
  if (command.kind === "stop") {
    // Choice: what channels started in this session, and nothing of clients or scheduled jobs.
    const stopped = runs
      .active(sessionKey)
      .filter((run) => run.source === "channel" && runs.abort(run.runId, "stop")).length;
    return { reply: stopped === 0 ? "Nothing to stop." : `Stopped ${stopped} run${stopped === 1 ? "" : "s"}.` };
  }
  const act = () => obey(command, sessionKey, sessions, { principal: job.principal, now });
  if (command.kind !== "restart" || command.text === "") return { reply: await act() };
  let isDone = false;
  const restart = async () => {
    if (!isDone) await act();
    isDone = true;
  };
  return { run: {}, restart };
}

function readCommand(text: string): ReturnType<typeof commandIn> | { readonly reply: string } {
  try {
    return commandIn(text);
  } catch (error) {
    if (isGatewayError(error) && error.code === "INVALID_REQUEST") return { reply: error.message };
    throw error;
  }
}

/** Whether the command is a stop, which does not wait for its turn. */
export function isStop(text: string): boolean {
  const command = readCommand(text);
  return command !== undefined && "kind" in command && command.kind === "stop";
}
