/** The `ChatCommand` extension point and the `ChatCommands` service. Spec: protocol/methods-chat.md §2. */
import type { Principal, Scope } from "../principal.ts";
import { defineExtensionPoint, defineService } from "../service.ts";
import type { ToolAddress } from "../tools/service.ts";

/** A command in a message, and the message it came in. */
export interface ChatCommandCall {
  /** Name of the contribution, also if the person wrote an alias. */
  readonly name: string;
  /** What follows the name, trimmed. */
  readonly text: string;
  /** Canonical. */
  readonly sessionKey: string;
  readonly principal: Principal;
  /** Idempotency key of the message. After a crash the same command may be run again with the same key. */
  readonly runId: string;
  /** `RunRequest.source` of the runs that this surface starts: `chat` or `channel`. */
  readonly surface: string;
  /** The message also has files; an outcome with `message`, even an empty one, sends them to the agent. */
  readonly hasFiles?: true;
  /** Conversation of a channel. */
  readonly address?: ToolAddress;
  /** The person, as the channel knows them. */
  readonly sender?: { readonly id: string; readonly name?: string };
}

/** What remains to be done after a command. */
export type ChatCommandOutcome =
  /** Answers the person; nothing goes to the agent. */
  | { readonly reply: string }
  /** Starts a run. */
  | {
      /** Text for the agent. */
      readonly message: string;
      /** As `RunRequest.compact`. */
      readonly compact?: string;
      /** Prepares the session, e.g. resets it. Idempotent. Not called if the run was accepted before, or is refused. */
      readonly before?: () => Promise<unknown>;
    };

/**
 * A command of a chat. The contribution id is its name without the slash: a lower-case letter, then up to 31 lower-case
 * letters, digits, `-` or `_`.
 */
export interface ChatCommand {
  /** One line, for `/help` and for menus. */
  readonly summary: string;
  /** The arguments, e.g. `[mode]`. Absent: the command has none, and text after it is refused. */
  readonly usage?: string;
  /** Other names. A command with that name takes precedence. */
  readonly aliases?: readonly string[];
  /** Scope that the sender must hold. Default `operator.write`. */
  readonly scope?: Scope;
  /** Runs before messages that wait for their turn, as `/stop` does. */
  readonly urgent?: true;
  /**
   * Must have the same effect if it is repeated with the same `runId`.
   * @throws GatewayError `INVALID_REQUEST` for wrong arguments: the message is shown to the person
   */
  run(call: ChatCommandCall): Promise<ChatCommandOutcome>;
}

/** Token of the extension point. */
export const ChatCommand = defineExtensionPoint<ChatCommand>("chat.command", {
  summary:
    "Commands that people write in a chat, such as `/new`. Owned by the plugin `commands`; contributed by every plugin that offers one.",
  remotable: true,
});

/** A command found in a text. */
export interface ParsedCommand {
  /** Name of the contribution, or the unknown name. Empty: the text is for the agent, without the slash that escaped it. */
  readonly name: string;
  /** What follows the name, trimmed. */
  readonly text: string;
  /** Overtakes waiting messages. */
  readonly urgent: boolean;
}

/** A command as `/help` and menus show it. */
export interface ListedCommand {
  readonly name: string;
  readonly summary: string;
  readonly usage?: string;
  /** Other names. */
  readonly aliases?: readonly string[];
  readonly scope: Scope;
}

/** Finds and runs commands in messages of people. Texts of webhooks, scheduled jobs and agents are never passed to it. */
export interface ChatCommands {
  /** All commands, sorted by name. */
  list(): readonly ListedCommand[];
  /**
   * The command in a text, also for an unknown `/x` and for an escaped one (`//x`); `undefined`: the text is for the
   * agent. A stop phrase, such as "please stop", is the command `stop`.
   */
  parse(text: string): ParsedCommand | undefined;
  /**
   * Runs a command. Answers with the reason if the name is unknown, the sender lacks the scope, or the command failed
   * unexpectedly.
   * @throws GatewayError of the command: `INVALID_REQUEST` for wrong arguments, `UNAVAILABLE` if a later attempt may succeed
   */
  run(parsed: ParsedCommand, call: Omit<ChatCommandCall, "name" | "text">): Promise<ChatCommandOutcome>;
}

/** Token of the service. */
export const ChatCommands = defineService<ChatCommands>()("chat.commands", "1.0.0", {
  summary: "Finds and runs commands in messages. Provided by the plugin `commands`; used by chats and channels.",
});
