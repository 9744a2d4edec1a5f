/** Runs commands that a person sends to the gateway in a chat, as `chat.send` does. Spec: protocol/methods-chat.md §2. */
import { ERRORS, isGatewayError, unavailable } from "@svc/sdk";
import type { RunRequest } from "@svc/sdk/agents";
import type { MenuCommand } from "@svc/sdk/channels";
import type { ChatCommandCall, ChatCommandOutcome, ChatCommands } from "@svc/sdk/commands";
import type { AcceptedMessage } from "./inbound-store.ts";
import { joined, runMessage } from "./prompt.ts";
import { senderIdOf } from "../access/sender.ts";

/** The remaining step: send `reply` to the person, or start a run. */
export type Obeyed = { readonly reply: string } | Beginning;

/** A run to start. */
export interface Beginning {
  readonly run: Partial<Pick<RunRequest, "compact" | "message">>;
  /** Prepares the session before the run. Idempotent. */
  readonly restart?: () => Promise<unknown>;
}

/** @throws GatewayError `UNAVAILABLE` if a later attempt may succeed */
export async function obeyCommand(
  message: AcceptedMessage,
  commands: ChatCommands | undefined,
  address: NonNullable<ChatCommandCall["address"]>,
): Promise<Obeyed> {
  const { job, sessionKey, runId } = message;
  if (!commands) return unavailable("the plugin commands is not running now; see: svc plugins list");
  const parsed = commands.parse(job.command ?? "");
  if (!parsed) return { run: {} };
  const sender = { id: senderIdOf(message), ...(job.senderName === undefined ? {} : { name: job.senderName }) };
  const call = {
    sessionKey,
    principal: job.principal,
    runId,
    surface: "channel",
    address,
    sender,
    ...(job.media === undefined ? {} : { hasFiles: true as const }),
  };
  const outcome = await replyOfRefusal(() => commands.run(parsed, call));
  if ("reply" in outcome) return outcome;
  const { message: text, compact, before } = outcome;
  const isUser = job.principal.scopes.includes("operator.write");
  const said = runMessage({ chat: { type: job.chatType, id: job.replyTo }, sender, text }, isUser);
  return {
    run: { message: joined(job.around ?? "", said), ...(compact === undefined ? {} : { compact }) },
    ...(before ? { restart: before } : {}),
  };
}

/** A refusal that another attempt would not change is shown to the person. */
async function replyOfRefusal(run: () => Promise<ChatCommandOutcome>): Promise<ChatCommandOutcome> {
  try {
    return await run();
  } catch (error) {
    if (isGatewayError(error) && !ERRORS[error.code].retry) return { reply: error.message };
    throw error;
  }
}

/** Commands for the menu of a network: those that people in a chat may use. */
export function menuOf(commands: Pick<ChatCommands, "list"> | undefined): readonly MenuCommand[] {
  const usable = (commands?.list() ?? []).filter(({ scope }) => scope !== "operator.admin");
  return usable.map(({ name, summary }) => ({ name: name.replaceAll("-", "_"), description: summary }));
}
