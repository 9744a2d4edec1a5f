/** Questions as steps of the wire, and answers of clients as answers of parts. Spec: protocol/methods-wizard.md. Pure. */
import { randomUUID } from "node:crypto";
import { invalidRequest, matches, Strict, Type } from "@svc/sdk";
import { cut } from "@svc/sdk/cli";
import type { SetupAnswer, SetupOption, SetupQuestion, SetupStep, WizardStep } from "@svc/sdk/wizard";

/** Choice: characters of one text of a step, of an answer, and options of one question. */
const MAX_TEXT = 20_000;
const MAX_ANSWER = 10_000;
const MAX_OPTIONS = 1_000;
/** Choice: a shorter secret is not hidden, because it would hide parts of ordinary words. */
const SHORTEST_HIDDEN = 4;

const text = Type.Optional(Type.String());
const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const options = Type.Array(Strict({ value: Value, label: Type.String({ minLength: 1 }), hint: text }), {
  minItems: 1,
  maxItems: MAX_OPTIONS,
});
const base = { title: text, message: Type.String() };
const Question = Type.Union([
  Strict({ ...base, kind: Type.Literal("note") }),
  Strict({
    ...base,
    kind: Type.Literal("text"),
    placeholder: text,
    initial: text,
    sensitive: Type.Optional(Type.Boolean()),
  }),
  Strict({ ...base, kind: Type.Literal("confirm"), initial: Type.Optional(Type.Boolean()) }),
  Strict({ ...base, kind: Type.Literal("select"), options, initial: Type.Optional(Value) }),
  Strict({ ...base, kind: Type.Literal("multiselect"), options, initial: Type.Optional(Type.Array(Value)) }),
]);
const Step = Type.Union([
  Strict({ ask: Question, state: Type.Optional(Type.Unknown()) }),
  Strict({
    done: Type.Literal(true),
    message: text,
    config: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  }),
]);

/** Whether a plugin returned a step; parts may come from packages of other authors. */
export function isStep(value: unknown): value is SetupStep {
  return matches(Step, value);
}

/**
 * @param news lines about what happened since the last question; they precede the message
 * @param hide replaces secrets
 */
export function stepOf(
  question: SetupQuestion,
  title: string,
  news: readonly string[],
  hide: (shown: string) => string,
): WizardStep {
  const shown = (words: string) => cut(hide(words), MAX_TEXT);
  const choices =
    "options" in question ? { options: question.options.map((option) => shownOption(option, shown)) } : {};
  const initial = "initial" in question ? question.initial : undefined;
  const isHidden = question.kind === "text" && question.sensitive === true;
  return {
    id: randomUUID(),
    type: question.kind,
    title: shown(question.title ?? title),
    message: shown([...news, question.message].filter(Boolean).join("\n\n")),
    ...choices,
    ...(question.kind === "text" && question.placeholder !== undefined
      ? { placeholder: shown(question.placeholder) }
      : {}),
    ...(initial === undefined || isHidden ? {} : { initialValue: initial }),
    ...(isHidden ? { sensitive: true } : {}),
    executor: "client",
  };
}

function shownOption({ value, label, hint }: SetupOption, shown: (words: string) => string) {
  return { value, label: shown(label), ...(hint === undefined ? {} : { hint: shown(hint) }) };
}

/**
 * Converts an answer by the rules of the specification.
 * @throws GatewayError `INVALID_REQUEST`, after which the question stays open (choice): a value that is no option of
 *   `select`; a text above 10,000 characters
 */
export function answerOf(question: SetupQuestion, value: unknown): SetupAnswer {
  switch (question.kind) {
    case "note":
      return undefined;
    case "confirm":
      return Boolean(value);
    case "multiselect":
      // Choice: values that are no option are dropped.
      return Array.isArray(value)
        ? question.options.filter((option) => value.includes(option.value)).map((option) => option.value)
        : [];
    case "select": {
      const known = question.options.find((option) => option.value === value);
      return known
        ? known.value
        : invalidRequest(
            `answer.value is no option of this question; options: ${cut(question.options.map((option) => JSON.stringify(option.value)).join(", "), 500)}`,
          );
    }
    case "text": {
      const words = typeof value === "string" ? value : isPlain(value) ? String(value) : "";
      return words.length <= MAX_ANSWER
        ? words
        : invalidRequest(`answer.value has more than ${MAX_ANSWER} characters; shorten it`);
    }
  }
}

function isPlain(value: unknown): value is number | boolean {
  return typeof value === "number" || typeof value === "boolean";
}

/** Replaces the secrets that were entered in this setup, so that no later text shows them. */
export class EnteredSecrets {
  readonly #secrets = new Set<string>();

  add(question: SetupQuestion, answer: SetupAnswer): void {
    if (question.kind !== "text" || question.sensitive !== true || typeof answer !== "string") return;
    const secret = answer.trim();
    if (secret.length >= SHORTEST_HIDDEN) this.#secrets.add(secret);
  }

  readonly hide = (words: string): string =>
    [...this.#secrets].reduce((shown, secret) => shown.replaceAll(secret, "(hidden)"), words);
}
