/** What a plugin asks for, in words for whoever installs it, and what was agreed to. Pure. */
import { createHash } from "node:crypto";
import { cut, visible } from "@svc/sdk/cli";
import type { Manifest, Placement } from "../kernel/manifest.ts";

/** What the package asks for, of which an agreement is made. */
export type Asking = Pick<
  Manifest,
  "id" | "permissions" | "gates" | "routes" | "namespaces" | "section" | "commands" | "isolation"
>;

/** Where it runs when the configuration does not say otherwise. */
export function preferredPlacement({ isolation }: Pick<Manifest, "isolation">): Placement {
  if (!isolation) return "host";
  return isolation.default ?? (isolation.supports.includes("worker") ? "worker" : (isolation.supports[0] ?? "host"));
}

/**
 * One line for each thing it asks for, sorted; the same for the same package. What is more than before is what has lines
 * that were not there: `<kind> <what>`.
 * @param native files of compiled code, relative to the package
 */
export function itemsOf(manifest: Asking, native: readonly string[]): readonly string[] {
  const { id, permissions = {}, gates = [], routes = [], namespaces = [], section, commands = [] } = manifest;
  const { calls = [], net = [], files, exec, env = [] } = permissions;
  const isFree = preferredPlacement(manifest) !== "process";
  const items = [
    ...(isFree ? ["rights all"] : []),
    ...calls.map((scope) => `calls ${scope}`),
    ...net.map((address) => `net ${address}`),
    ...(files?.read ?? []).map((path) => `reads ${path}`),
    ...(files?.write ?? []).map((path) => `writes ${path}`),
    ...(exec ? ["exec programs"] : []),
    ...env.map((name) => `env ${name}`),
    ...gates.map((gate) => `gate ${gate}`),
    ...routes.map((route) => `route ${route}`),
    ...namespaces.filter((name) => name !== id).map((name) => `methods ${name}`),
    ...(section === undefined || section === id ? [] : [`section ${section}`]),
    ...commands.map(({ name }) => `command ${name}`),
    ...native.map((file) => `native ${file}`),
  ];
  return [...new Set(items)].sort();
}

/** Longest item that is shown in full. */
const LONGEST = 200;

const WORDS: Readonly<Record<string, (what: string) => string>> = {
  rights: () =>
    "runs inside the gateway: it can do all that the gateway can; what follows is what it says it needs, and is not enforced",
  calls: (scope) => `calls methods of this gateway with the scope ${scope}`,
  net: (address) => `connects to ${address}`,
  reads: (path) => `reads ${path}`,
  writes: (path) => `writes ${path}`,
  exec: () => "runs programs",
  env: (name) => `reads the environment variable ${name}`,
  gate: (gate) => `may refuse what passes ${gate}; that stays shut while the plugin is away`,
  route: (route) => `answers HTTP requests below ${route}`,
  methods: (name) => `serves methods below ${name}.`,
  section: (section) => `has the section ${section} of the configuration`,
  command: (name) => `adds the command: svc ${name}`,
  native: (file) => `brings compiled code, which nothing can confine: ${file}`,
};

/** The same in plain words, the weightiest first; never empty. What the package wrote is made safe for a terminal. */
export function summaryOf(items: readonly string[]): readonly string[] {
  if (items.length === 0) return ["asks for nothing, and runs in a process of its own"];
  const order = Object.keys(WORDS);
  const split = items.map((item) => [item.slice(0, item.indexOf(" ")), item.slice(item.indexOf(" ") + 1)] as const);
  return split
    .sort(([left], [right]) => order.indexOf(left) - order.indexOf(right))
    .map(([kind, what]) => {
      const shown = cut(visible(what), LONGEST);
      return WORDS[kind]?.(shown) ?? `${kind} ${shown}`;
    });
}

/** Items that were not agreed to. */
export function addedItems(items: readonly string[], agreed: readonly string[]): readonly string[] {
  return items.filter((item) => !agreed.includes(item));
}

/**
 * What stands for an agreement: to these items, for this very package. Another archive is another agreement.
 * @param integrity of the archive; for a link its directory
 */
export function agreementOf(id: string, integrity: string, items: readonly string[]): string {
  const text = JSON.stringify([id, integrity, [...items].sort()]);
  return createHash("sha256").update(text).digest("base64url");
}
