/** Who answers the steps: a person, lines of JSON, or the defaults. */
import { type CommandContext, cut, visibleLines } from "@svc/sdk/cli";
import type { WizardStep } from "@svc/sdk/wizard";
import type { Lines } from "./lines.ts";

/** The setup ends because nobody answers. */
export class Ended extends Error {}

/** A step of the setup, or a question of the command itself. */
export type Question = Omit<WizardStep, "id" | "executor">;

/** @throws Ended */
export type Answers = (step: Question) => Promise<unknown>;

/** Answers from the command line. */
export interface Given {
  /** Value of an option, or a URL. */
  readonly provider?: string;
  /** Answer to the first hidden question. */
  readonly key?: string;
}

type Option = NonNullable<Question["options"]>[number];

/** Choice: each answer from the command line is used once, since a repeated question means that it was refused. */
function usingOnce({ provider, key }: Given): (step: Question) => { readonly value: string } | undefined {
  const left = new Set(["choice", "url", "key"]);
  const use = (name: string, value: string) => (left.delete(name) ? { value } : undefined);
  const isUrl = provider !== undefined && /^https?:\/\//i.test(provider);
  return ({ type, options = [], placeholder = "", sensitive }) => {
    const has = (value: string) => options.some((option) => option.value === value);
    if (type === "select" && provider !== undefined) {
      if (has(provider)) return use("choice", provider);
      if (isUrl && has("other")) return use("choice", "other");
      if (has("keep") && has("other"))
        throw new Ended(
          `--provider ${provider} is no option; options: ${options.map(({ value }) => String(value)).join(", ")}.`,
        );
    }
    if (type !== "text") return undefined;
    if (sensitive === true) return key === undefined ? undefined : use("key", key);
    return isUrl && /^https?:/.test(placeholder) ? use("url", provider) : undefined;
  };
}

/** Prints the steps, and takes the default of each. */
export function byDefaults(given: Given, context: CommandContext): Answers {
  const fromFlags = usingOnce(given);
  return async (step) => {
    if (context.json) printJson(context, { step });
    else for (const line of headOf(step)) context.output.write(`${line}\n`);
    const found = fromFlags(step) ?? defaultOf(step);
    if (!found) throw new Ended(`The setup asks for a value that has no default: ${step.message ?? step.title ?? ""}`);
    if (!context.json && step.type !== "note") context.output.write(`> ${chosenText(step, found.value)}\n`);
    return found.value;
  };
}

function chosenText({ sensitive, options = [] }: Question, value: unknown): string {
  if (sensitive === true) return "(hidden)";
  if (typeof value === "boolean") return value ? "yes" : "no";
  const labels = options.filter((option) => [value].flat().includes(option.value)).map(({ label }) => label);
  return visibleLines(labels.length > 0 ? labels.join(", ") : String(value));
}

function defaultOf({ type, options, initialValue }: Question): { readonly value: unknown } | undefined {
  if (type === "note") return { value: undefined };
  if (initialValue !== undefined) return { value: initialValue };
  if (type === "confirm") return { value: false };
  if (type === "multiselect") return { value: [] };
  if (type === "select") return { value: options?.[0]?.value };
  return undefined;
}

/** One line out and one line in for each step. */
export function byJson(context: CommandContext, lines: Lines, given: Given): Answers {
  const fromFlags = usingOnce(given);
  return async (step) => {
    printJson(context, { step });
    const known = fromFlags(step);
    if (known) return known.value;
    const line = await lines.ask("");
    if (line === undefined) throw new Ended("The input ended before the setup.");
    if (line.trim() === "") return defaultOf(step)?.value;
    try {
      return JSON.parse(line) as unknown;
    } catch {
      throw new Ended(`An answer is no JSON value: ${cut(line, 80)}`);
    }
  };
}

export function printJson({ output }: Pick<CommandContext, "output">, value: object): void {
  output.write(`${visibleLines(JSON.stringify(value))}\n`);
}

/** Numbered menus and plain questions: they need no cursor keys and work over any connection. */
export function byPerson({ output }: CommandContext, lines: Lines, given: Given): Answers {
  const fromFlags = usingOnce(given);
  const say = (line: string) => void output.write(`${line}\n`);
  const read = async (prompt: string, isSecret = false) => {
    const line = await lines.ask(prompt, isSecret);
    if (line === undefined) throw new Ended("The input ended before the setup.");
    return line;
  };

  /** Asks until `parse` accepts the line. */
  async function until<T>(prompt: string, parse: (line: string) => { readonly value: T } | string): Promise<T> {
    for (;;) {
      const parsed = parse((await read(prompt)).trim());
      if (typeof parsed !== "string") return parsed.value;
      say(parsed);
    }
  }

  return async (step) => {
    for (const line of headOf(step)) say(line);
    const known = fromFlags(step);
    if (known) return known.value;
    const { type, options = [], initialValue, placeholder, sensitive = false } = step;
    if (type === "note") return undefined;
    if (type === "confirm")
      return until(initialValue === true ? "[Y/n] " : "[y/N] ", (line) => yesOrNo(line, initialValue === true));
    if (type === "select") {
      const first = Math.max(
        0,
        options.findIndex(({ value }) => value === initialValue),
      );
      options.forEach((option, index) => say(optionLine(option, index)));
      return until(`Number [${first + 1}]: `, (line) => oneOf(options, line, first));
    }
    if (type === "multiselect") {
      const chosen = Array.isArray(initialValue) ? initialValue : [];
      options.forEach((option, index) => say(optionLine(option, index, chosen.includes(option.value))));
      return until("Numbers, separated by commas; 0: none; empty: those marked with *: ", (line) =>
        someOf(options, line, chosen),
      );
    }
    const initial = typeof initialValue === "string" ? initialValue : undefined;
    const example = placeholder === undefined ? undefined : `e.g. ${placeholder}`;
    const hint = initial ? `${initial}; a space: empty` : example;
    const line = await read(hint === undefined ? "> " : `[${visibleLines(hint)}] > `, sensitive);
    return line === "" ? (initial ?? "") : line.trim();
  };
}

function headOf({ title, message }: Question): string[] {
  return ["", ...(title ? [`== ${visibleLines(title)} ==`] : []), ...(message ? [visibleLines(message)] : [])];
}

function optionLine({ label, hint }: Option, index: number, isMarked = false): string {
  const mark = isMarked ? "*" : " ";
  return visibleLines(`${mark}${String(index + 1).padStart(2)}. ${label}${hint === undefined ? "" : ` (${hint})`}`);
}

function yesOrNo(line: string, initial: boolean): { readonly value: boolean } | string {
  if (line === "") return { value: initial };
  if (/^y(?:es)?$/i.test(line)) return { value: true };
  return /^no?$/i.test(line) ? { value: false } : "Answer y or n.";
}

function oneOf(options: readonly Option[], line: string, first: number): { readonly value: unknown } | string {
  const option = line === "" ? options[first] : optionAt(options, line);
  return option ? { value: option.value } : `Enter a number from 1 to ${options.length}.`;
}

function someOf(
  options: readonly Option[],
  line: string,
  chosen: readonly unknown[],
): { readonly value: unknown } | string {
  if (line === "") return { value: chosen };
  if (line === "0") return { value: [] };
  const found = line.split(/[\s,]+/).map((part) => optionAt(options, part));
  if (found.some((option) => option === undefined)) return `Enter numbers from 1 to ${options.length}, e.g. 1,2.`;
  return { value: found.map((option) => option?.value) };
}

function optionAt(options: readonly Option[], text: string): Option | undefined {
  return /^\d{1,4}$/.test(text) ? options[Number(text) - 1] : undefined;
}
