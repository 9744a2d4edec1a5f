/** Finds a command in a message. Pure. Spec: protocol/methods-chat.md §2. */
import { isStopRequest } from "@svc/kit/chat-commands";

/** A command as it was written: the name in lower case, the rest trimmed. */
export interface Written {
  /** Empty: an escaped text for the agent. */
  readonly name: string;
  readonly text: string;
}

/** Names of commands, as contribution ids. */
export const COMMAND_NAME = /^[a-z][a-z0-9_-]{0,31}$/;

/** `/name`, in a group also `/name@bot`, and what follows. A path such as `/etc/hosts` is none. */
const COMMAND = /^\s*\/([a-z][a-z0-9_-]{0,31})(?:@\S+)?(?:\s([^]*))?$/i;
/** Choice: a second slash escapes a command, and only a command: `// TODO` stays as it is. */
const ESCAPED = /^\s*\/(\/[a-z][a-z0-9_-]{0,31}(?:@\S+)?(?:\s[^]*)?)$/i;

export const STOP = "stop";

/** The command in `message`; `undefined`: a text for the agent. `/stop` with further words is one. */
export function commandIn(message: string): Written | undefined {
  if (isStopRequest(message)) return { name: STOP, text: "" };
  const escaped = ESCAPED.exec(message)?.[1];
  if (escaped !== undefined) return { name: "", text: escaped.trim() };
  const [, word, rest = ""] = COMMAND.exec(message) ?? [];
  if (word === undefined) return undefined;
  const written = { name: word.toLowerCase(), text: rest.trim() };
  return written.name === STOP && written.text !== "" ? undefined : written;
}
