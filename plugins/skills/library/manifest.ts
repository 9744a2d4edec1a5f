/** Parses the front matter of a SKILL.md. Pure. Every text is of unknown origin: bounded, and of the wrong type if it likes. */
import type { SkillInstaller, SkillNeeds } from "@svc/sdk/skills";
import { CORE_SCHEMA, load } from "js-yaml";

/** How to install a program of the skill. */
export interface InstallSpec extends SkillInstaller {
  /** Systems it is for; empty: all. */
  readonly os: readonly string[];
  /** Formula, package, module or URL. */
  readonly what: string;
  /** Of `download`: the file is an archive to unpack. */
  readonly extract: boolean;
}

/** The front matter, as far as it is understood. */
export interface Manifest {
  readonly name: string;
  readonly description: string;
  /** Key below `skills.entries`; default: the name. */
  readonly skillKey: string;
  readonly primaryEnv?: string;
  readonly emoji?: string;
  readonly homepage?: string;
  readonly always: boolean;
  /** People may use it, but it is not listed in prompts. */
  readonly isUnlisted: boolean;
  readonly needs: SkillNeeds;
  readonly install: readonly InstallSpec[];
}

const MAX_FRONT_MATTER_CHARS = 16_384;
const MAX_DEPTH = 20;
const MAX_ITEMS = 50;
const MAX_TEXT = 300;
const MAX_DESCRIPTION = 1_024;
/** Limit of file systems for one name. */
const MAX_NAME_BYTES = 255;
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,62}[\p{L}\p{N}])?$/u;
const PROGRAM = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,99}$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,199}$/;
const KINDS = new Set<string>(["brew", "node", "go", "uv", "download", "apt"]);
const SYSTEMS: Readonly<Record<string, string>> = { macos: "darwin", mac: "darwin", windows: "win32", win: "win32" };
/** Keys that make an object below `metadata` the part of some product. */
const PRODUCT_KEYS = ["requires", "install", "os", "emoji", "primaryEnv", "skillKey", "always", "homepage"];

type Fields = Readonly<Record<string, unknown>>;

/**
 * @param folder name of the folder, used if the file names none
 * @throws Error with the reason why the skill is skipped
 */
export function parseManifest(text: string, folder: string): Manifest {
  const fields = frontMatter(text);
  const own = productPart(fields["metadata"]);
  const name = line(fields["name"]) || folder;
  if (!isSkillName(name)) {
    throw new Error(
      "its name may have up to 64 letters, digits, spaces and . _ - and starts and ends with one of the first two",
    );
  }
  const description = line(fields["description"], MAX_DESCRIPTION);
  if (description === "") throw new Error("its front matter has no description");
  const requires = fieldsOf(own["requires"]);
  const primaryEnv = line(own["primaryEnv"]);
  const [emoji, homepage] = [line(own["emoji"]), line(own["homepage"]) || line(fields["homepage"])];
  return {
    name,
    description,
    skillKey: line(own["skillKey"]) || name,
    ...(VARIABLE.test(primaryEnv) && { primaryEnv }),
    ...(emoji !== "" && { emoji }),
    ...(/^https?:\/\//.test(homepage) && { homepage }),
    always: own["always"] === true,
    isUnlisted: fields["disable-model-invocation"] === true,
    needs: {
      bins: texts(requires["bins"], PROGRAM),
      anyBins: texts(requires["anyBins"], PROGRAM),
      env: texts(requires["env"], VARIABLE),
      config: texts(requires["config"], /^[\w-]+(?:\.[\w-]+|\[\d+\])*$/),
      os: systems(own["os"]),
    },
    install: items(own["install"]).flatMap(installSpec),
  };
}

/** Every name is also the name of a folder. */
export function isSkillName(name: string): boolean {
  return NAME.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

/** What clients see of an installer. */
export function shownInstaller({ id, kind, label, bins }: InstallSpec): SkillInstaller {
  return { id, kind, label, bins };
}

/** The text without its front matter. */
export function bodyOf(text: string): string {
  return text.replace(HEAD, "").trim();
}

const HEAD = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;

function frontMatter(text: string): Fields {
  const [, yaml] = HEAD.exec(text) ?? [];
  if (yaml === undefined) throw new Error("it does not begin with front matter between two lines of ---");
  if (yaml.length > MAX_FRONT_MATTER_CHARS) {
    throw new Error(`its front matter has more than ${MAX_FRONT_MATTER_CHARS} characters`);
  }
  const value = yamlOf(yaml) ?? yamlOf(quoted(yaml));
  if (value === undefined) throw new Error("its front matter is not valid YAML, or uses aliases");
  return fieldsOf(value);
}

/** `undefined`: not valid. Aliases are refused, because a few of them can stand for gigabytes. */
function yamlOf(text: string): unknown {
  try {
    return load(text, { maxAliases: 0, maxDepth: MAX_DEPTH, schema: CORE_SCHEMA }) ?? {};
  } catch {
    return undefined;
  }
}

/** Quotes plain values with `: ` in them, which are not valid YAML but common in public skills. */
function quoted(yaml: string): string {
  return yaml.replaceAll(/^([A-Za-z][\w-]*):[ \t]+([^\s"'[{|>&*#].*:[ \t].*)$/gm, (_line, key: string, value: string) =>
    [key, JSON.stringify(value.trim())].join(": "),
  );
}

/** `metadata` may be an object or its JSON text, with the fields in it or below the key of any product. */
function productPart(metadata: unknown): Fields {
  const whole = fieldsOf(typeof metadata === "string" ? yamlOf(metadata.slice(0, MAX_FRONT_MATTER_CHARS)) : metadata);
  const isProduct = (value: unknown) => PRODUCT_KEYS.some((key) => Object.hasOwn(fieldsOf(value), key));
  const candidates = Object.keys(whole).filter((key) => key !== "requires" && isProduct(whole[key]));
  const [first] = candidates.includes("svc") ? ["svc"] : candidates;
  return first === undefined ? whole : fieldsOf(whole[first]);
}

function installSpec(value: unknown, index: number): InstallSpec[] {
  const fields = fieldsOf(value);
  const kind = line(fields["kind"]) || line(fields["type"]);
  const what = ["formula", "package", "module", "url"].map((key) => line(fields[key], 2_000)).find(Boolean);
  if (!KINDS.has(kind) || what === undefined) return [];
  const bins = texts(fields["bins"], PROGRAM);
  return [
    {
      id: line(fields["id"]) || `${kind}-${index}`,
      kind: kind as InstallSpec["kind"], // just checked
      label: line(fields["label"]) || `Install ${bins.join(", ") || what} (${kind})`,
      bins,
      os: systems(fields["os"]),
      what,
      extract: fields["extract"] === true || (fields["archive"] !== undefined && fields["extract"] !== false),
    },
  ];
}

function systems(value: unknown): string[] {
  return texts(value, /^[A-Za-z0-9]+$/).map((name) => SYSTEMS[name.toLowerCase()] ?? name.toLowerCase());
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function items(value: unknown): readonly unknown[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  return all.slice(0, MAX_ITEMS);
}

/** Texts that match; anything else is dropped. */
function texts(value: unknown, pattern: RegExp): string[] {
  return [...new Set(items(value).map((item) => line(item)))].filter((item) => pattern.test(item));
}

/** One line of printable characters; `""` for anything but a text. */
function line(value: unknown, max = MAX_TEXT): string {
  if (typeof value !== "string") return "";
  return value
    .slice(0, max * 4)
    .replaceAll(/[\s\p{Cc}\p{Cf}\p{Co}]+/gu, " ")
    .trim()
    .slice(0, max);
}
