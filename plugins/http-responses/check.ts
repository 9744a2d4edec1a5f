/**
 * Validates parts of a request against a schema; one line reports the first fault and its position. Pure. Spec:
 * http/responses.md §2.
 */
import { GatewayError, type Static, type TObject, violations } from "@svc/sdk";
import type { DetailCode } from "@svc/sdk/errors";

/** Position in the request: keys and indexes. */
export type Path = readonly (string | number)[];

/** Details of a refusal: fields of the public API's error object. */
export interface RefusalDetails {
  readonly param?: string;
  readonly code?: DetailCode;
}

/** @throws GatewayError always: `INVALID_REQUEST`, `<dotted path>: <issue>`, or the issue alone about the whole request */
export function refuse(path: Path, issue: string, code?: DetailCode): never {
  const param = path.join(".");
  const details: RefusalDetails = { ...(param === "" ? {} : { param }), ...(code === undefined ? {} : { code }) };
  throw new GatewayError("INVALID_REQUEST", param === "" ? issue : `${param}: ${issue}`, { details });
}

/**
 * Validates an object. A known optional key may be `null`, which clients send for "not set".
 * @throws GatewayError `INVALID_REQUEST` with the first fault
 */
export function checked<S extends TObject>(schema: S, value: unknown, path: Path): Static<S> {
  const object = objectAt(value, path);
  const required: readonly string[] = schema.required ?? [];
  const missing = required.find((key) => object[key] === undefined || object[key] === null);
  if (missing !== undefined) refuse([...path, missing], "is required");
  const given = Object.fromEntries(
    Object.entries(object).filter(([key, field]) => field !== null || !Object.hasOwn(schema.properties, key)),
  );
  const [first] = violations(schema, given);
  if (first) refuse([...path, ...pointer(first.path)], first.message);
  return given as Static<S>; // validated above
}

/** @throws GatewayError `INVALID_REQUEST` if the value is not an object */
export function objectAt(value: unknown, path: Path): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) refuse(path, "must be an object");
  return value as Record<string, unknown>; // an object that is not an array
}

/** @throws GatewayError `INVALID_REQUEST` if the value is not an array */
export function arrayAt(value: unknown, path: Path): readonly unknown[] {
  if (!Array.isArray(value)) refuse(path, "must be an array");
  return value as unknown[]; // `isArray` narrows to `any[]`
}

/** `/a~1b/0` as a list of keys. */
function pointer(text: string): string[] {
  return text
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}
