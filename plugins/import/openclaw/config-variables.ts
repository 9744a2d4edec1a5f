/** `${NAME}` in a configuration: text, or a reference to an imported secret. */
import type { SecretRecord } from "@svc/sdk/import";
import { isSecretRef } from "@svc/sdk/secrets";
import { at, cut, dotted, fits, isWithin, leaves, type Path, put, texts, type Values } from "./config-paths.ts";
import { type Draft, note } from "./config-draft.ts";

/** Name of the provider in `secrets.providers`. */
export const IMPORTED = "imported";

const VARIABLE = /(\$?)\$\{([A-Z_][A-Z0-9_]*)\}/gu;

/** Sections that take no references, and values that no plugin reads. */
const TEXT_ONLY = ["gateway", "hooks", "channels", "env", "skills.entries.*.config"];

export interface Variables {
  /** From the files of the source, by name. */
  readonly found: ReadonlyMap<string, string>;
  /** Names that the configuration refers to. */
  readonly used: Set<string>;
  /** Values of references, by id. */
  readonly secrets: Map<string, string>;
  /** References that the schema of the setting may not accept, each with the text instead of it. */
  readonly pending: { readonly path: Path; readonly text: string }[];
  /** Whether the variable is set in this process. */
  isSet(name: string): boolean;
}

interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly dotEnv: Readonly<Record<string, string>>;
}

/** Reads the variables, and takes the section `env` out of the new configuration. `.env` wins, as it does there. */
export function readVariables(draft: Draft, { env, dotEnv }: Sources): Variables {
  const own = Object(cut(draft.config, ["env"])) as Values;
  const listed = { ...own, ...(Object(own["vars"]) as Values), ...dotEnv };
  const strings = Object.entries(listed).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const found = new Map(strings.filter(([, value]) => value !== ""));
  return { found, used: new Set(), secrets: new Map(), pending: [], isSet: (name) => (env[name] ?? "") !== "" };
}

/** Notes what became of the section `env`, after its variables were filled in. */
export function noteVariables(draft: Draft, { used }: Variables, { dotEnv }: Pick<Sources, "dotEnv">): void {
  const own = at(draft.source, ["env"]);
  for (const leaf of own === undefined ? [] : leaves(own, ["env"])) {
    const name = String(leaf.at(-1));
    if (leaf[1] === "shellEnv") note(draft, leaf, "drop", "the login shell is not read here");
    else if (used.has(name)) note(draft, leaf, "convert", "is where the configuration refers to it");
    else {
      draft.kept[dotted(leaf)] = at(draft.source, leaf);
      note(draft, leaf, "keep", "this gateway sets no variables of its own", `export ${name}=... where svc starts`);
    }
  }
  const unused = Object.keys(dotEnv).filter((name) => !used.has(name));
  if (unused.length > 0)
    draft.warnings.push(
      `.env: the gateway there also has ${unused.join(", ")}; next: if programs need them, set them where svc starts`,
    );
}

/** A reference to an imported secret, which is remembered. */
export function imported({ secrets }: Pick<Variables, "secrets">, id: string, value: string): Values {
  secrets.set(id, value);
  return { source: "file", provider: IMPORTED, id: `/${id}` };
}

/** Replaces variables by references or by their values; those of the process only stay. */
export function fillVariables(draft: Draft, variables: Variables): void {
  for (const path of texts(draft.config)) {
    const text = String(at(draft.config, path));
    const [whole, only] = filled(text, variables);
    if (whole === text) continue;
    const value = only !== undefined && !TEXT_ONLY.some((pattern) => fits(pattern, path) !== undefined);
    if (value) variables.pending.push({ path, text: whole });
    put(draft.config, path, value ? imported(variables, only, variables.found.get(only) ?? "") : whole);
    note(draft, path, "convert", "the variable is in env or .env there");
  }
}

/** @returns the text, and the name if the text was one known variable and nothing else */
function filled(text: string, { found, used }: Variables): readonly [text: string, only?: string] {
  const whole = text.replace(VARIABLE, (match, escaped: string, name: string) => {
    const value = escaped === "" ? found.get(name) : undefined;
    if (value === undefined) return match;
    used.add(name);
    return value.replace(VARIABLE, (literal) => `$${literal}`);
  });
  const only = /^\$\{(\w+)\}$/u.exec(text)?.[1];
  return only !== undefined && found.has(only) ? [whole, only] : [whole];
}

/** Puts text in the place of references at or below a path that accepts none. @returns whether there was one */
export function useText(draft: Draft, variables: Variables, place: Path): boolean {
  const { pending } = variables;
  const refused = pending.filter(({ path }) => isWithin(path, place) || isWithin(place, path));
  for (const one of refused) {
    put(draft.config, one.path, one.text);
    pending.splice(pending.indexOf(one), 1);
  }
  const value = at(draft.config, place);
  if (refused.length > 0 || !isSecretRef(value) || value.source !== "env") return refused.length > 0;
  put(draft.config, place, filled(`\${${value.id}}`, variables)[0]); // a place that takes only text
  note(draft, place, "convert", "takes text only, here with the variable of the reference");
  return true;
}

/** Names in a text that neither a file nor this process has. */
export function missingIn(value: unknown, { found, isSet }: Variables): string[] {
  const names = typeof value === "string" ? [...value.matchAll(VARIABLE)] : [];
  return names.flatMap(([, escaped, name = ""]) => (escaped === "" && !found.has(name) && !isSet(name) ? [name] : []));
}

/** The secrets that the finished configuration refers to. Warns about variables that only this process has. */
export function usedSecrets(draft: Draft, { secrets, found }: Variables): SecretRecord[] {
  const ids = new Set<string>();
  const collect = (value: unknown): void => {
    if (isSecretRef(value)) return void (value.provider === IMPORTED && ids.add(value.id.slice(1)));
    if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
  };
  collect(draft.config);
  for (const path of texts(draft.config))
    for (const [, escaped, name = ""] of String(at(draft.config, path)).matchAll(VARIABLE))
      if (escaped === "" && !found.has(name))
        draft.warnings.push(`${dotted(path)}: ${name} is set only in this process; next: set it where svc starts, too`);
  return [...secrets].flatMap(([id, value]) => (ids.has(id) ? [{ id, value }] : []));
}
