/** The conversation of a person (or a pipe) over streams: prints replies as they arrive, reads lines, handles Ctrl-C. */
import { answerIn, answerPrompt, endLine, type OpenQuestions, questionLines, type QuestionNews } from "@svc/kit/exec";
import { type GatewayError, isGatewayError, messageOf } from "@svc/sdk";
import { visibleLines } from "@svc/sdk/cli";
import { createInterface, type Interface } from "node:readline";
import type { Conversation, Reply } from "./conversation.ts";
import { createPrinter, historyLines, type Style, toolLine } from "./transcript-view.ts";

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly style: Style;
  /** Prints a line outside of the conversation. */
  readonly note: (line: string) => void;
}

const PROMPT = "> ";

export const LOCAL_HELP = [
  "/history [n]  show the last n messages (20)",
  "/quit         leave, as Ctrl-C does at the prompt; during a reply, Ctrl-C stops the reply",
  "y, n, always  answer a question that waits for a decision",
].join("\n");

/** Sends one message and prints the reply as it arrives. @throws GatewayError as `Conversation.send` */
export async function say(conversation: Conversation, message: string, terminal: Terminal): Promise<Reply> {
  const { output, style, note } = terminal;
  const printer = createPrinter();
  const print = (text: string) => void output.write(printer.next(visibleLines(text)));
  let reply: Reply;
  try {
    reply = await conversation.send(message, {
      text: print,
      tool(data) {
        const line = toolLine(data);
        if (line === undefined) return;
        output.write(printer.lineEnd());
        note(style.dim(`  ${line}`));
      },
    });
    if (reply.text !== "") print(reply.text);
  } finally {
    output.write(printer.lineEnd());
  }
  if (reply.status === "ok" && reply.text === "") note(style.dim("(no reply)"));
  if (reply.status === "aborted") note(style.dim(stoppedLine(reply)));
  if (reply.status === "error") note(`The reply failed: ${visibleLines(reply.reason ?? "no reason given")}`);
  return reply;
}

/** `rpc` and `stop` are requests to stop, as from this terminal, and need no reason. */
function stoppedLine({ reason = "rpc" }: Reply): string {
  return reason === "rpc" || reason === "stop" ? "(stopped)" : `(stopped: ${visibleLines(reason)})`;
}

/** Prints the last `limit` messages; 0 prints nothing. */
export async function showHistory(
  conversation: Conversation,
  limit: number,
  { output, style }: Terminal,
): Promise<void> {
  if (limit === 0) return;
  for (const line of historyLines(await conversation.history(limit), style)) output.write(`${line}\n`);
}

/**
 * Reads lines until the input ends, each a message or a local command.
 * @param options.interactive show a prompt and accept local commands; otherwise every line that is not blank is a message.
 * @param options.questions approval questions that this client may decide: shown as they arrive, answered by a line.
 * @returns the exit code: 1 when the connection was lost, or when a reply of a pipe failed.
 */
export async function converse(
  conversation: Conversation,
  terminal: Terminal,
  { interactive, questions }: { readonly interactive: boolean; readonly questions?: Questions },
): Promise<number> {
  const { input, output, note } = terminal;
  const lines = createInterface({
    input,
    output: interactive ? output : undefined,
    terminal: interactive,
    prompt: PROMPT,
  });
  let failures = 0;
  conversation.onLost(() => lines.close());
  lines.on("SIGINT", () => void interrupt(conversation, note, () => lines.close()));
  let open: OpenQuestions | undefined;
  const messages = questions ? messagesIn(lines, (line) => isAnswer(line, open, conversation, terminal)) : lines;
  const tell = (news: QuestionNews) => {
    output.write(`${newsLines(news).join("\n")}\n`);
    if (!conversation.replying) lines.prompt(true);
  };
  if (questions) open = await questions(tell);

  if (interactive) lines.prompt();
  for await (const line of messages) {
    if (interactive && line.trim() === "/quit") break;
    if (line.trim() !== "") failures += (await handleLine(conversation, line, terminal, interactive)) ? 0 : 1;
    if (conversation.lost) break;
    if (interactive) lines.prompt();
  }
  lines.close();
  open?.close();
  if (conversation.lost) return lostMessage(conversation.lost, note);
  return interactive || failures === 0 ? 0 : 1;
}

/** Starts watching questions. */
export type Questions = (tell: (news: QuestionNews) => void) => Promise<OpenQuestions>;

function newsLines(news: QuestionNews): string[] {
  if (news.event === "ended") return [endLine(news)];
  return ["", "A decision is needed:", ...questionLines(news.question), answerPrompt(news.question)];
}

/** Lines from now on, including those typed while one is being handled; answers to questions are removed at once. */
function messagesIn(lines: Interface, isTaken: (line: string) => boolean): AsyncIterable<string> {
  const waiting: string[] = [];
  let isOpen = true;
  let wake = () => {};
  lines.on("line", (line) => {
    if (!isTaken(line)) waiting.push(line);
    wake();
  });
  lines.once("close", () => {
    isOpen = false;
    wake();
  });
  return {
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const line = waiting.shift();
        if (line !== undefined) yield line;
        else if (isOpen) await new Promise<void>((resolve) => (wake = resolve));
        else return;
      }
    },
  };
}

/**
 * Whether a line is not a message: it answers a question, or is typed where an answer is expected. Choice: while a reply is in
 * progress and a question is open, only an answer or a local command is accepted; otherwise every other line is a message.
 */
function isAnswer(
  line: string,
  questions: OpenQuestions | undefined,
  conversation: Conversation,
  terminal: Terminal,
): boolean {
  const question = questions?.first;
  if (!questions || !question || line.trim().startsWith("/")) return false;
  if (answerIn(line, question)) {
    questions.answer(line).catch((error: unknown) => terminal.note(`Refused: ${visibleLines(messageOf(error))}`));
    return true;
  }
  if (!conversation.replying || line.trim() === "") return false;
  terminal.note(answerPrompt(question));
  return true;
}

/** Handles Ctrl-C: stops the reply in progress, else leaves. */
export async function interrupt(
  conversation: Conversation,
  note: (line: string) => void,
  leave: () => void,
): Promise<void> {
  if (!conversation.replying) return leave();
  try {
    await conversation.abort();
  } catch (error) {
    note(`Could not stop the reply: ${messageOf(error)}`);
  }
}

/** Reports the lost connection and the next step. @returns the exit code */
export function lostMessage(error: GatewayError, note: (line: string) => void): number {
  note(`${error.message}.`);
  note("Check the gateway with `svc gateway probe`; once it responds, `svc chat` shows the conversation so far.");
  return 1;
}

/** @returns false when the message or its reply failed */
async function handleLine(
  conversation: Conversation,
  line: string,
  terminal: Terminal,
  interactive: boolean,
): Promise<boolean> {
  try {
    if (interactive && (await localCommand(conversation, line.trim(), terminal))) return true;
    return (await say(conversation, line, terminal)).status === "ok";
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    if (!conversation.lost) terminal.note(`Refused: ${visibleLines(error.message)}`);
    return false;
  }
}

/** Choice: `/help` shows the local commands, then the gateway lists its own. @returns whether `line` is done */
async function localCommand(conversation: Conversation, line: string, terminal: Terminal): Promise<boolean> {
  if (line === "/help") terminal.output.write(`${LOCAL_HELP}\n`);
  const [found, count = "20"] = /^\/history(?:\s+([1-9]\d{0,2}|1000))?$/.exec(line) ?? [];
  if (found === undefined) return false;
  await showHistory(conversation, Number(count), terminal);
  return true;
}
