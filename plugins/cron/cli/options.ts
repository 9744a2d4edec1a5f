/** Reads the options of `svc cron ...`, one at a time. Pure. */
import { invalidRequest } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import { parseSpan } from "./times.ts";

export type Options = Readonly<Record<string, unknown>>;

/** `failureAlertAfter` -> `--failure-alert-after`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The trimmed text of an option; `undefined`: not given. */
export function textOption(options: Options, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" ? value.trim() : undefined;
}

/** As `textOption`. @throws GatewayError `INVALID_REQUEST` when it is blank */
export function filledOption(options: Options, name: string, example: string): string | undefined {
  const value = textOption(options, name);
  return value === "" ? refuse(`${flagOf(name)} is blank`, `${flagOf(name)} ${example}`) : value;
}

export function isGiven(options: Options, name: string): boolean {
  const value = options[name];
  return typeof value === "string" || value === true;
}

/** The one given option of several that exclude each other. @throws GatewayError `INVALID_REQUEST` for two of them */
export function onlyOneOf<T extends string>(options: Options, names: readonly T[]): T | undefined {
  const given = names.filter((name) => isGiven(options, name));
  const [first, second] = given;
  if (first !== undefined && second !== undefined) {
    refuse(`${flagOf(first)} and ${flagOf(second)} exclude each other`, `give one of ${names.map(flagOf).join(", ")}`);
  }
  return first;
}

/** @throws GatewayError `INVALID_REQUEST` naming the choices */
export function choiceOption<T extends string>(options: Options, name: string, choices: readonly T[]): T | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const flag = flagOf(name);
  const choice = choices.find((one) => one === text.toLowerCase());
  return choice ?? refuse(`${flag} takes ${choices.join(", ")}, not "${text}"`, `${flag} ${choices[0]}`);
}

/** A duration in milliseconds. @param least milliseconds @throws GatewayError `INVALID_REQUEST` for an invalid or shorter duration */
export function spanOption(options: Options, name: string, least: number, example: string): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const ms = parseSpan(text);
  if (ms !== undefined && ms >= least) return ms;
  return refuse(`${flagOf(name)} takes a duration like 30s, 5m, 2h or 1d, not "${text}"`, `${flagOf(name)} ${example}`);
}

/** @throws GatewayError `INVALID_REQUEST` unless it is a whole number from `least` to `most` */
export function countOption(
  options: Options,
  name: string,
  { least, most, example }: { readonly least: number; readonly most: number; readonly example: number },
): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const count = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (count >= least && count <= most) return count;
  return refuse(
    `${flagOf(name)} takes a whole number from ${least} to ${most}, not "${text}"`,
    `${flagOf(name)} ${example}`,
  );
}

/** @throws GatewayError `INVALID_REQUEST`, with the next step on its own line */
export function refuse(why: string, next: string): never {
  const lines = why.split("\n").map(visible);
  return invalidRequest(`${lines.join("\n")}\nNext: ${next}`);
}
