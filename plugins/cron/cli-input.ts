/** What `svc cron ...` is given on its command line, one option at a time. Pure. */
import { invalidRequest, notFound } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { CronJob } from "@svc/sdk/cron";
import { parseSpan } from "./cli-times.ts";

export type Options = Readonly<Record<string, unknown>>;

/** Lines of a refusal that names several jobs. */
const MOST_NAMED = 10;

/** `failureAlertAfter` -> `--failure-alert-after`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The text of an option; `undefined`: it was not given. A blank one is a text of nothing. */
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

/** Of options that exclude each other, the one that was given. @throws GatewayError `INVALID_REQUEST` for two of them */
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

/** Milliseconds. @param least milliseconds @throws GatewayError `INVALID_REQUEST` when it is none, or shorter */
export function spanOption(options: Options, name: string, least: number, example: string): number | undefined {
  const text = textOption(options, name);
  if (text === undefined) return undefined;
  const ms = parseSpan(text);
  if (ms !== undefined && ms >= least) return ms;
  return refuse(
    `${flagOf(name)} takes a length of time like 30s, 5m, 2h or 1d, not "${text}"`,
    `${flagOf(name)} ${example}`,
  );
}

/** @throws GatewayError `INVALID_REQUEST` when it is no whole number from `least` to `most` */
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

/**
 * The job somebody means: its id or name, or what only its id or name begins with; case does not count.
 * @throws GatewayError `NOT_FOUND`, `INVALID_REQUEST` listing those that fit
 */
export function resolveJob(jobs: readonly CronJob[], wanted: string): CronJob {
  const word = wanted.trim().toLowerCase();
  const names = ({ id, name }: CronJob) => [id.toLowerCase(), name.trim().toLowerCase()];
  const fits: readonly ((job: CronJob) => boolean)[] = [
    (job) => names(job)[0] === word,
    (job) => names(job).includes(word),
    (job) => names(job).some((name) => name.startsWith(word)),
  ];
  for (const fit of word === "" ? [] : fits) {
    const found = jobs.filter(fit);
    if (found.length > 1) {
      const lines = found.slice(0, MOST_NAMED).map(({ id, name }) => `  ${visible(id)}  ${visible(name)}`);
      const more = found.length > MOST_NAMED ? [`  and ${found.length - MOST_NAMED} more`] : [];
      return refuse([`"${wanted}" means ${found.length} jobs:`, ...lines, ...more].join("\n"), "name one by its id");
    }
    if (found[0]) return found[0];
  }
  return notFound(`no job "${visible(wanted)}"\nNext: svc cron list --all`);
}

/** @throws GatewayError `INVALID_REQUEST`, with what to do next in a line of its own */
export function refuse(why: string, next: string): never {
  const lines = why.split("\n").map(visible);
  return invalidRequest(`${lines.join("\n")}\nNext: ${next}`);
}
