/** What the files that wire verbs to commander share. */
import type { Command } from "commander";
import type { Output } from "./output.ts";

/** Where verbs are hung in. */
export interface Wiring {
  readonly program: Command;
  readonly output: Output;
  /** Runs a verb; its result becomes the exit code. */
  act(action: () => Promise<number> | number): Promise<void>;
}

export const JSON_OPTION = ["--json", "print one JSON value"] as const;

const TARGET_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ["--url <url>", "gateway to talk to (default: the one of this machine)"],
  ["--token <token>", "gateway token (default: SVC_GATEWAY_TOKEN, configuration, kept token)"],
  ["--password <password>", "gateway password (default: SVC_GATEWAY_PASSWORD, configuration)"],
  ["--tls-fingerprint <sha256>", "certificate to trust (default: SVC_GATEWAY_TLS_FINGERPRINT, the one made here)"],
];

/** Adds the options that say which gateway is meant. */
export function withTarget(command: Command): Command {
  for (const [flags, description] of TARGET_OPTIONS) command.option(flags, description);
  return command;
}

/** The part of a help text with whole command lines to copy. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
