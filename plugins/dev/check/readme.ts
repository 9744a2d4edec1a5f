/** Whether the README names what a plugin has to offer. Pure. */
import { contributions, methods, type Staged } from "@svc/host";
import type { Plugin, TSchema } from "@svc/sdk";
import { failed, type Problem, unless } from "./findings.ts";

/** @param text `undefined`: there is none */
export function readmeProblems(
  text: string | undefined,
  plugin: Plugin,
  { declared }: Pick<Staged, "declared">,
): Problem[] {
  if (text === undefined) return [failed("there is no README.md", "write one: what it does, and how it is configured")];
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
      failed(`README.md does not name the keys ${keys.join(", ")}`, "say what each does, and its default"),
    ),
    ...unless(
      names.length === 0,
      failed(`README.md does not name the methods ${names.join(", ")}`, "say what each does, and for whom"),
    ),
    ...unless(
      ids.length === 0,
      failed(`README.md does not name what it contributes: ${ids.join(", ")}`, "say what each is for"),
    ),
  ];
}

/** As a word of its own, e.g. `notes.add` and not `notes.address`. */
function mentions(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\-]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`).test(text);
}

/** Or in short, behind another one of its namespace: `notes.add`, `.list`. */
function mentionsMethod(text: string, name: string): boolean {
  const words = name.split(".");
  const tails = words.slice(1).map((_, index) => `.${words.slice(index + 1).join(".")}`);
  return mentions(text, name) || tails.some((tail) => text.includes(`\`${tail}\``));
}

/** The first keys below a section. */
function keysOf(schema: TSchema): string[] {
  return Object.keys((schema as { properties?: object }).properties ?? {});
}
