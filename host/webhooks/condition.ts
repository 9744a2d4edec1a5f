/** Conditions of mappings: payload values and headers that a request must have. Pure. */
import { isObject } from "../config/plain-data.ts";
import { isMatchSecret, isSecretName } from "../config/redact.ts";
import { parsePlace, readPlace } from "./payload-path.ts";

/** Why the payload does not meet the condition, for people; `undefined`: it does. */
export type Condition = (payload: unknown) => string | undefined;

/** The same for headers; names in lower case. */
export type HeaderCondition = (headers: Readonly<Record<string, string>>) => string | undefined;

/** An invalid condition; the message names the key. */
export class ConditionError extends Error {
  override readonly name = "ConditionError";
}

type Literal = string | number | boolean | null;

/** Why the value does not match, or `undefined`. */
type Test = (value: unknown) => string | undefined;

/**
 * All keys must match: place -> a value (same type and value), a list of values (one of them),
 * `{ exists: true | false }`, or `{ not: value or list }`. Choice: null exists; a missing value matches every `not`.
 * @throws ConditionError
 */
export function compileCondition(when: Readonly<Record<string, unknown>>): Condition {
  const tests = Object.entries(when).map(([key, wanted]) => {
    const place = parsePlace(key);
    if (!place) throw new ConditionError(`"${key}" is not a place in the payload; write it like a.b[0].c`);
    const test = testOf(key, wanted, isMatchSecret("when", key));
    return { key, place, test: isSecret(key) ? hiding(test) : test };
  });
  return (payload) => {
    for (const { key, place, test } of tests) {
      const why = test(readPlace(payload, place));
      if (why !== undefined) return `${key} ${why}`;
    }
    return undefined;
  };
}

/**
 * All headers must have exactly the value, or one of the values.
 * @throws ConditionError
 */
export function compileHeaderMatch(wanted: Readonly<Record<string, string | readonly string[]>>): HeaderCondition {
  const tests = new Map<string, Test>();
  for (const [name, value] of Object.entries(wanted)) {
    const key = name.toLowerCase();
    if (!HEADER_NAME.test(key)) throw new ConditionError(`"${name}" is not a valid header name`);
    if (tests.has(key)) throw new ConditionError(`header ${key} is named twice; give it a list of values`);
    const values = [value].flat();
    if (values.length === 0 || !values.every((one) => typeof one === "string"))
      throw new ConditionError(`header ${key}: give it a text, or a list of texts`);
    const test = oneOf(values, isMatchSecret("headers", key));
    tests.set(key, isSecret(key) ? hiding(test) : test);
  }
  return (headers) => {
    for (const [name, test] of tests) {
      const why = test(Object.hasOwn(headers, name) ? headers[name] : undefined);
      if (why !== undefined) return `header ${name} ${why}`;
    }
    return undefined;
  };
}

const HEADER_NAME = /^[a-z0-9!#$%&'*+.^_`|~-]{1,128}$/;

/** Whether reasons name neither the value of this name nor the wanted value. */
function isSecret(name: string): boolean {
  return isSecretName(name) || /authorization|cookie/i.test(name);
}

function hiding(test: Test): Test {
  return (value) => (test(value) === undefined ? undefined : "does not have the expected value");
}

/** @param isHidden reasons do not name the wanted value */
function testOf(key: string, wanted: unknown, isHidden: boolean): Test {
  if (!isObject(wanted)) return oneOf(literals(key, wanted), isHidden);
  const [[operator, operand] = [], ...more] = Object.entries(wanted);
  if (more.length === 0 && operator === "exists" && typeof operand === "boolean") return existence(operand);
  if (more.length === 0 && operator === "not") return noneOf(literals(`${key}.not`, operand));
  throw refusal(key);
}

function literals(key: string, wanted: unknown): readonly Literal[] {
  const values: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  if (values.length === 0) throw new ConditionError(`${key}: an empty list matches nothing; name a value`);
  if (!values.every(isLiteral)) throw refusal(key);
  return values;
}

function refusal(key: string): ConditionError {
  return new ConditionError(
    `${key}: give it a text, a number, true, false or null, a list of those, {exists: true|false} or {not: value}`,
  );
}

function isLiteral(value: unknown): value is Literal {
  if (typeof value === "number") return Number.isFinite(value); // NaN does not equal itself
  return value === null || typeof value === "string" || typeof value === "boolean";
}

function oneOf(values: readonly Literal[], isHidden: boolean): Test {
  const wanted = isHidden
    ? "the expected value"
    : values.length === 1
      ? shown(values[0])
      : `one of ${values.map(shown).join(", ")}`;
  return (value) => (values.some((one) => one === value) ? undefined : `is ${shown(value)}, not ${wanted}`);
}

function noneOf(values: readonly Literal[]): Test {
  return (value) => (values.some((one) => one === value) ? `is ${shown(value)}` : undefined);
}

function existence(wanted: boolean): Test {
  return (value) => ((value !== undefined) === wanted ? undefined : wanted ? "is missing" : "exists");
}

/** Characters of a value in a reason. */
const SHOWN = 60;

function shown(value: unknown): string {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, SHOWN + 1) : value);
  return text.length > SHOWN + 2 ? `${text.slice(0, SHOWN)}..."` : text;
}
