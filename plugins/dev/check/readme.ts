/** Checks that the README documents what a plugin offers. Pure. */
import { contributions, methods, type Staged } from "@svc/host";
import type { Plugin, TSchema } from "@svc/sdk";
import { failed, type Problem, unless } from "./findings.ts";

/** @param text `undefined`: there is no README */
export function readmeProblems(
  text: string | undefined,
  plugin: Plugin,
  { declared }: Pick<Staged, "declared">,
): Problem[] {
  if (text === undefined)
    return [failed("README.md is missing", "write README.md: what the plugin does, and how to configure the plugin")];
  const missing = (names: readonly string[], says = mentions) =>
    [...new Set(names)].filter((name) => !says(text, name));
  const sections = [...(plugin.config ? [plugin.config] : []), ...Object.values(plugin.sections ?? {})];
  const keys = missing(sections.flatMap(keysOf));
  const names = missing(
    declared.of(methods).map(({ method }) => method.name),
    mentionsMethod,
  );
  const ids = missing(declared.of(contributions).map(({ id }) => id));
  return [
    ...unless(
      keys.length === 0,
      failed(`README.md does not mention the keys ${keys.join(", ")}`, "describe each key and its default"),
    ),
    ...unless(
      names.length === 0,
      failed(`README.md does not mention the methods ${names.join(", ")}`, "describe each method and its scope"),
    ),
    ...unless(
      ids.length === 0,
      failed(`README.md does not mention the contributions: ${ids.join(", ")}`, "describe the purpose of each"),
    ),
  ];
}

/** Whether the name appears as a separate word, e.g. `notes.add` but not `notes.address`. */
function mentions(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\-]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
}

/** Also accepts the short form after another name of the namespace: `notes.add`, `.list`. */
function mentionsMethod(text: string, name: string): boolean {
  const words = name.split(".");
  const tails = words.slice(1).map((_, index) => `.${words.slice(index + 1).join(".")}`);
  return mentions(text, name) || tails.some((tail) => text.includes(`\`${tail}\``));
}

/** Top-level keys of a section. */
function keysOf(schema: TSchema): string[] {
  return Object.keys((schema as { properties?: object }).properties ?? {});
}
