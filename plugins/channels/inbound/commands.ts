/** Runs commands that a person sends to the gateway in a chat, as `chat.send` does. Spec: protocol/methods-chat.md §2. */
import { commandIn, obey } from "@svc/kit/chat-commands";
import { isGatewayError } from "@svc/sdk";
import type { AgentRuns, RunRequest } from "@svc/sdk/agents";
import type { Sessions } from "@svc/sdk/sessions";
import type { AcceptedMessage } from "./inbound-store.ts";

/** The remaining step: send `reply` to the person, or start a run. */
export type Obeyed = { readonly reply: string } | Beginning;

/** A run to start. */
export interface Beginning {
  readonly run: Pick<RunRequest, "compact">;
  /** Resets the session before the run. Idempotent. */
  readonly restart?: () => Promise<void>;
}

/** @param now epoch ms. @throws GatewayError `UNAVAILABLE` if a later attempt may succeed */
export async function obeyCommand(
  { sessionKey, runId, job }: AcceptedMessage,
  { runs, sessions }: { readonly runs: Pick<AgentRuns, "state" | "active" | "abort">; readonly sessions: Sessions },
  now: number,
): Promise<Obeyed> {
  const command = readCommand(job.command ?? "");
  if (command === undefined) return { run: {} };
  if ("reply" in command) return command;
  if (command.kind === "compact") return { run: { compact: command.instructions } };
  if (await runs.state(runId)) return { run: {} }; // the command ran before a restart
  if (command.kind === "stop") {
    // Choice: stops runs that channels started in this session, not those of clients or scheduled jobs.
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

/** Whether the command is a stop, which overtakes waiting messages. */
export function isStop(text: string): boolean {
  const command = readCommand(text);
  return command !== undefined && "kind" in command && command.kind === "stop";
}
