/** Finds the transform among the exports of a file. Spec: http/webhooks.md §6.3. */
import { matches, type TSchema } from "@svc/sdk";
import type { Transform, TransformExample } from "@svc/sdk/transform";
import { describeThrown, moduleProblem } from "./problem.ts";

/** A callable transform. */
export interface LoadedTransform {
  readonly transform: Transform;
  /** JSON Schema of the body. */
  readonly payload: TSchema | undefined;
  readonly examples: readonly TransformExample[];
}

type Shape = Readonly<Record<string, unknown>>;

/**
 * @param exports `module.exports` of the file
 * @param name the export to use. Default: `default`, then `transform`
 * @throws ModuleProblem naming the file and what it exports instead
 */
export function pickTransform(exports: unknown, name: string | undefined, path: string): LoadedTransform {
  const [label, value] = name === undefined ? unnamed(exports, path) : [name, named(exports, name, path)];
  if (typeof value === "function") {
    // Examples exported next to a bare function; with a named export it would be unclear to which function they belong.
    const examples = name === undefined ? ownOf(exports, "examples") : undefined;
    return { transform: value as Transform, payload: undefined, examples: checkedExamples(examples, path) };
  }
  const transform = isShape(value) ? value["transform"] : undefined;
  if (!isShape(value) || typeof transform !== "function") {
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
    throw moduleProblem(path, `export "${label}" is ${kind}; export a function, or defineTransform({ transform })`);
  }
  return {
    transform: (context) => transform.call(value, context),
    payload: checkedSchema(value["payload"], path),
    examples: checkedExamples(value["examples"] ?? (name === undefined ? ownOf(exports, "examples") : undefined), path),
  };
}

function named(exports: unknown, name: string, path: string): unknown {
  const value = ownOf(exports, name);
  if (value === undefined) throw moduleProblem(path, `has no export "${name}"; ${whatItExports(exports)}`);
  return value;
}

function unnamed(exports: unknown, path: string): [label: string, value: unknown] {
  const own = ownOf(exports, "default");
  if (own !== undefined) return ["default", own];
  const isModule = ownOf(exports, "__esModule") === true;
  // `module.exports = function`, or an object with all parts
  if (!isModule && (typeof exports === "function" || typeof ownOf(exports, "transform") === "function"))
    return ["module.exports", exports];
  const value = ownOf(exports, "transform");
  if (value !== undefined) return ["transform", value];
  throw moduleProblem(path, `exports neither "default" nor "transform"; ${whatItExports(exports)}`);
}

function whatItExports(exports: unknown): string {
  const names = isShape(exports) || typeof exports === "function" ? Object.keys(exports as object) : [];
  return names.length === 0 ? "it exports nothing" : `it exports ${names.slice(0, 20).join(", ")}`;
}

function isShape(value: unknown): value is Shape {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Own properties only, never those of a prototype. */
function ownOf(value: unknown, name: string): unknown {
  const holds = (typeof value === "object" && value !== null) || typeof value === "function";
  return holds && Object.hasOwn(value, name) ? (value as Shape)[name] : undefined;
}

function checkedSchema(schema: unknown, path: string): TSchema | undefined {
  if (schema === undefined) return undefined;
  if (!isShape(schema))
    throw moduleProblem(path, "its payload is not a JSON Schema; write payload: Type.Object({ ... })");
  try {
    matches(schema as TSchema, null); // compiles it
    return schema as TSchema;
  } catch (error) {
    throw moduleProblem(path, `its payload is not a valid JSON Schema: ${describeThrown(error, "/")}`);
  }
}

function checkedExamples(examples: unknown, path: string): readonly TransformExample[] {
  if (examples === undefined) return [];
  if (!Array.isArray(examples))
    throw moduleProblem(path, "its examples are not a list; write examples: [{ payload, expect }]");
  for (const [index, example] of examples.entries()) {
    const whole = isShape(example) && "payload" in example && "expect" in example;
    if (!whole) throw moduleProblem(path, `example ${index + 1} needs payload and expect`);
  }
  return examples as readonly TransformExample[];
}
