/**
 * Tells the person who is asked to agree what a plugin does inside the gateway, according to the package; the code has
 * not run yet. Choice: the lines are shown once, on install. They are not part of the agreement, because an update may
 * add a method without asking again.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Manifest } from "@svc/host/local";
import { matches, type Static, Type } from "@svc/sdk";
import { cut, visible } from "@svc/sdk/cli";

/** Maximum names of one kind that are shown. */
const SHOWN = 8;

const Entries = Type.Optional(Type.Array(Type.Object({ name: Type.String() })));
/** The used part of `declared.json`, which `svc plugins declare` writes. */
const Declared = Type.Object({
  entry: Type.String({ description: "sha256 of the code" }),
  entries: Type.Object({ methods: Entries, routes: Entries, hooks: Entries }),
});
type Declared = Static<typeof Declared>;

/** One line per kind, in the format of `summaryOf`: without the subject `it`. */
export async function declaredLines(
  manifest: Pick<Manifest, "id" | "directory" | "entry" | "namespaces">,
): Promise<readonly string[]> {
  const declared = await readDeclared(manifest);
  if (!declared)
    return [
      ...namespaceLines(manifest),
      `does not declare which hooks it taps; after the install, svc plugins inspect ${manifest.id} lists them`,
    ];
  const { methods = [], routes = [], hooks = [] } = declared.entries;
  return [
    ...line("serves the method", "s", methods),
    ...line("answers", "", routes),
    ...line("taps the hook", "s", hooks),
  ];
}

async function readDeclared({
  directory,
  entry,
}: Pick<Manifest, "directory" | "entry">): Promise<Declared | undefined> {
  try {
    const code = await readFile(join(directory, entry));
    const declared: unknown = JSON.parse(await readFile(join(directory, dirname(entry), "declared.json"), "utf8"));
    const isOfCode = matches(Declared, declared) && declared.entry === createHash("sha256").update(code).digest("hex");
    return isOfCode ? declared : undefined;
  } catch {
    return undefined; // missing or unreadable; plugins in TypeScript have none
  }
}

/** Methods of other namespaces are omitted here: the agreement lists those namespaces. */
function namespaceLines({ id, namespaces = [] }: Pick<Manifest, "id" | "namespaces">): string[] {
  return namespaces.includes(id) ? [`serves methods below ${visible(id)}.`] : [];
}

/** @param plural suffix of `what` for several names */
function line(what: string, plural: string, entries: readonly { readonly name: string }[]): string[] {
  if (entries.length === 0) return [];
  const names = entries.slice(0, SHOWN).map(({ name }) => cut(visible(name), 100));
  const more = entries.length > SHOWN ? ` and ${entries.length - SHOWN} more` : "";
  return [`${what}${entries.length > 1 ? plural : ""} ${names.join(", ")}${more}`];
}
