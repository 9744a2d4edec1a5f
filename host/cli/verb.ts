/** Shared by the files that wire verbs to commander. */
import type { Command } from "commander";
import type { Output } from "./output.ts";

/** Context for registering verbs. */
export interface Wiring {
  readonly program: Command;
  readonly output: Output;
  /** Runs a verb; its result becomes the exit code. */
  act(action: () => Promise<number> | number): Promise<void>;
}

export const JSON_OPTION = ["--json", "print one JSON value"] as const;

const TARGET_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ["--url <url>", "gateway to connect to (default: the gateway of this machine)"],
  ["--token <token>", "gateway token (default: SVC_GATEWAY_TOKEN, configuration, stored token)"],
  ["--password <password>", "gateway password (default: SVC_GATEWAY_PASSWORD, configuration)"],
  ["--tls-fingerprint <sha256>", "certificate to trust (default: SVC_GATEWAY_TLS_FINGERPRINT, the local gateway's)"],
];

/** Adds the options that select the gateway. */
export function withTarget(command: Command): Command {
  for (const [flags, description] of TARGET_OPTIONS) command.option(flags, description);
  return command;
}

/** The "Examples" part of a help text: complete command lines to copy. */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
