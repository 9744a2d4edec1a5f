/** Talks to a person (or a pipe) over streams: prints replies as they come, reads lines, minds Ctrl-C. */
import { HELP } from "@svc/kit/chat-commands";
import { type GatewayError, isGatewayError, messageOf } from "@svc/sdk";
import { createInterface } from "node:readline";
import type { Conversation, Reply } from "./conversation.ts";
import { createPrinter, historyLines, printable, type Style, toolLine } from "./transcript-view.ts";

export interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly style: Style;
  /** Prints a line beside the conversation. */
  readonly note: (line: string) => void;
}

const LOCAL_HELP = [
  "/history [n]  show the last n messages (20)",
  "/quit         leave; so does Ctrl-C here. Ctrl-C while a reply is written stops the reply",
  HELP,
].join("\n");

/** Sends one message and prints the reply as it grows. @throws GatewayError as `Conversation.send` */
export async function say(conversation: Conversation, message: string, terminal: Terminal): Promise<Reply> {
  const { output, style, note } = terminal;
  const printer = createPrinter();
  const print = (text: string) => void output.write(printer.next(printable(text)));
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
  if (reply.status === "aborted") note(style.dim(`(stopped: ${reply.reason ?? "aborted"})`));
  if (reply.status === "error") note(`The reply failed: ${printable(reply.reason ?? "no reason given")}`);
  return reply;
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
 * @param options.interactive show a prompt and take local commands; otherwise every line that is not blank is a message.
 * @returns the exit code: 1 when the connection was lost, or when a reply of a pipe failed.
 */
export async function converse(
  conversation: Conversation,
  terminal: Terminal,
  { interactive }: { readonly interactive: boolean },
): Promise<number> {
  const { input, output, note } = terminal;
  const lines = createInterface({
    input,
    output: interactive ? output : undefined,
    terminal: interactive,
    prompt: "> ",
  });
  let failures = 0;
  conversation.onLost(() => lines.close());
  lines.on("SIGINT", () => void interrupt(conversation, note, () => lines.close()));

  if (interactive) lines.prompt();
  for await (const line of lines) {
    if (interactive && line.trim() === "/quit") break;
    if (line.trim() !== "") failures += (await handleLine(conversation, line, terminal, interactive)) ? 0 : 1;
    if (conversation.lost) break;
    if (interactive) lines.prompt();
  }
  lines.close();
  if (conversation.lost) return lostMessage(conversation.lost, note);
  return interactive || failures === 0 ? 0 : 1;
}

/** Ctrl-C: stops the reply that is being written, else leaves. */
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

/** Says that the connection is gone and what to do. @returns the exit code */
export function lostMessage(error: GatewayError, note: (line: string) => void): number {
  note(`${error.message}.`);
  note("Check with `svc gateway probe` whether it answers again; `svc chat` then shows how far the conversation got.");
  return 1;
}

/** @returns false when it failed */
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
    if (!conversation.lost) terminal.note(`Refused: ${printable(error.message)}`);
    return false;
  }
}

/** @returns whether `line` was one */
async function localCommand(conversation: Conversation, line: string, terminal: Terminal): Promise<boolean> {
  if (line === "/help") {
    terminal.output.write(`${LOCAL_HELP}\n`);
    return true;
  }
  const [, count] = /^\/history(?:\s+([1-9]\d{0,2}|1000))?$/.exec(line) ?? [undefined, undefined];
  if (line !== "/history" && count === undefined) return false;
  await showHistory(conversation, Number(count ?? 20), terminal);
  return true;
}
