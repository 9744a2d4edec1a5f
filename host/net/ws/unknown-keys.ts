/** For clients that may send keys which this gateway does not know. */
import type { TSchema } from "@svc/sdk";

/** The value without keys that the schema refuses, also in its strict objects. */
export function withoutUnknown(schema: TSchema, value: unknown): unknown {
  const { properties, additionalProperties } = schema as {
    properties?: Record<string, TSchema>;
    additionalProperties?: unknown;
  };
  if (!properties || additionalProperties !== false) return value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
      return known ? [[key, withoutUnknown(known, inner)]] : [];
    }),
  );
}
