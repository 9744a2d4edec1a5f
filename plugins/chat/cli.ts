/** `svc chat`: a conversation in this terminal. */
import { OpenQuestions, type QuestionNews } from "@svc/kit/exec";
import { invalidRequest, isGatewayError } from "@svc/sdk";
import { type CommandContext, defineCommands, isTerminal } from "@svc/sdk/cli";
import type { GatewayClient } from "@svc/sdk/client";
import { type Conversation, createConversation } from "./conversation.ts";
import { openingLines } from "./opening.ts";
import { converse, interrupt, lostMessage, say, showHistory, type Terminal } from "./terminal.ts";
import { ANSI, PLAIN } from "./transcript-view.ts";

interface Settings {
  readonly sessionKey: string;
  readonly message: string | undefined;
  /** Messages to show at the start; 0 shows none. */
  readonly history: number;
  readonly thinking: string | undefined;
  readonly timeoutMs: number | undefined;
}

/** Choice: requested only for a person at a terminal, since a client with this scope counts as an operator who can decide. */
const APPROVALS = ["operator.approvals"];

export default defineCommands([
  {
    name: "chat",
    summary: "Chat with an agent in this terminal",
    options: [
      { flags: "--session <key>", description: "session to talk in", default: "main" },
      { flags: "--message <text>", description: "send this one message, print the reply and exit" },
      { flags: "--history <n>", description: "messages to show at the start, 0 for none, at most 1000", default: "20" },
      { flags: "--thinking <level>", description: "thinking level for these messages, e.g. low, medium, high" },
      {
        flags: "--timeout <seconds>",
        description: "seconds a reply may take, 0 for no limit; default: from the configuration",
      },
    ],
    examples: [
      "svc chat",
      'svc chat --message "What is new?"',
      "svc chat --session notes --history 0",
      "svc chat < questions.txt",
    ],
    help: ["In a terminal it also shows questions that wait for an operator; answer with y, n or always."],
    run,
  },
]);

async function run(context: CommandContext): Promise<number> {
  const settings = readSettings(context.options, context.json);
  const { sessionKey, message, thinking, timeoutMs } = settings;
  const interactive = message === undefined && isTerminal(context.input) && isTerminal(context.output);
  const client = await context.connect({
    scopes: ["operator.read", "operator.write", ...(interactive ? APPROVALS : [])],
    caps: ["tool-events"],
  });
  const conversation = createConversation({
    client,
    sessionKey,
    ...(thinking === undefined ? {} : { thinking }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  try {
    if (interactive) return await talk(context, client, conversation, settings);
    if (message === undefined) {
      const work = () => converse(conversation, terminalOf(context), { interactive });
      return await whileInterruptible(context, conversation, work);
    }
    return await whileInterruptible(context, conversation, () => sendOnce(context, conversation, message));
  } catch (error) {
    if (conversation.lost === undefined || !isGatewayError(error)) throw error;
    return lostMessage(conversation.lost, (line) => context.note(line));
  } finally {
    await client.close();
  }
}

async function talk(
  context: CommandContext,
  client: GatewayClient,
  conversation: Conversation,
  { sessionKey, history }: Settings,
): Promise<number> {
  const terminal = terminalOf(context);
  const isNew = (await conversation.history(1)).length === 0;
  for (const line of await openingLines(client, sessionKey, isNew, terminal.style)) terminal.output.write(`${line}\n`);
  await showHistory(conversation, history, terminal);
  return converse(conversation, terminal, { interactive: true, questions: (tell) => watched(client, tell) });
}

/** Begins with the pending questions; none if this client may not decide them. */
async function watched(client: GatewayClient, tell: (news: QuestionNews) => void): Promise<OpenQuestions> {
  const questions = new OpenQuestions(client, tell);
  await questions.refresh().catch((error: unknown) => {
    if (!isGatewayError(error)) throw error;
  });
  return questions;
}

async function sendOnce(context: CommandContext, conversation: Conversation, message: string): Promise<number> {
  if (!context.json) return (await say(conversation, message, terminalOf(context))).status === "ok" ? 0 : 1;
  const { runId, status, text, reason } = await conversation.send(message, {
    text: () => undefined,
    tool: () => undefined,
  });
  context.print({ runId, status, text, ...(reason === undefined ? {} : { reason }) });
  return status === "ok" ? 0 : 1;
}

/** The first Ctrl-C stops the reply, a second one ends the process as usual. */
async function whileInterruptible<T>(
  context: CommandContext,
  conversation: Conversation,
  work: () => Promise<T>,
): Promise<T> {
  const onInterrupt = () =>
    void interrupt(
      conversation,
      (line) => context.note(line),
      () => process.exit(130),
    );
  process.once("SIGINT", onInterrupt);
  try {
    return await work();
  } finally {
    process.removeListener("SIGINT", onInterrupt);
  }
}

function terminalOf(context: CommandContext): Terminal {
  const { input, output } = context;
  const coloured = isTerminal(output) && !process.env["NO_COLOR"];
  return { input, output, note: (line) => context.note(line), style: coloured ? ANSI : PLAIN };
}

/** @throws GatewayError `INVALID_REQUEST` for an invalid number, and for `--json` without `--message` */
export function readSettings(options: Readonly<Record<string, unknown>>, json: boolean): Settings {
  const text = (name: string) => (typeof options[name] === "string" ? options[name] : undefined);
  const message = text("message");
  if (json && message === undefined) invalidRequest("--json prints one reply: give the message with --message <text>");
  const timeout = wholeNumber("--timeout", text("timeout"), 86_400);
  return {
    sessionKey: text("session") ?? "main",
    message,
    history: wholeNumber("--history", text("history"), 1_000) ?? 20,
    thinking: text("thinking"),
    timeoutMs: timeout === undefined ? undefined : timeout * 1_000,
  };
}

function wholeNumber(flag: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  return value <= most ? value : invalidRequest(`${flag} takes a whole number from 0 to ${most}, not "${text}"`);
}
