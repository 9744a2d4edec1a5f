/** Lists the permissions a plugin asks for, describes them for the installing user, and finds those not agreed to. Pure. */
import { cut, visible } from "@svc/sdk/cli";
import type { Manifest } from "../kernel/manifest.ts";
import { preferredPlacement } from "../kernel/placement.ts";

/** The manifest keys that need the user's agreement. */
export type Asking = Pick<
  Manifest,
  "id" | "permissions" | "gates" | "routes" | "namespaces" | "section" | "commands" | "isolation"
>;

/**
 * One item `<kind> <what>` for each permission, sorted; the same for the same package. A package asks for more than before if it has an item
 * that was not there before.
 * @param native files of compiled code, relative to the package
 */
export function itemsOf(manifest: Asking, native: readonly string[]): readonly string[] {
  const { id, permissions = {}, gates = [], routes = [], namespaces = [], section, commands = [] } = manifest;
  const { calls = [], net = [], files, exec, env = [] } = permissions;
  const isFree = preferredPlacement(manifest) !== "process";
  const items = [
    isFree ? "rights all" : "confined process",
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

/** Length of the longest item shown in full. */
const LONGEST = 200;

const WORDS: Readonly<Record<string, (what: string) => string>> = {
  rights: () =>
    "runs with all rights of the gateway, even in its own thread; the permissions below are declared by the plugin and not enforced",
  confined: () => "runs in its own process: files and programs not listed below are denied, the network is not",
  calls: (scope) => `calls methods of this gateway with the scope ${scope}`,
  net: (address) => `connects to ${address}`,
  reads: (path) => `reads ${path}`,
  writes: (path) => `writes ${path}`,
  exec: () => "runs programs, which can do everything this user can",
  env: (name) => `reads the environment variable ${name}`,
  gate: (gate) => `may deny what passes the gate ${gate}; the gate stays closed while the plugin is not running`,
  route: (route) => `serves HTTP requests below ${route}`,
  methods: (name) => `serves methods below ${name}.`,
  section: (section) => `owns the configuration section ${section}`,
  command: (name) => `adds the command: svc ${name}`,
  native: (file) => `contains compiled code, which cannot be confined: ${file}`,
};

/** Describes items for users, the most far-reaching first. Text from the package is made safe for a terminal. */
export function summaryOf(items: readonly string[]): readonly string[] {
  const order = Object.keys(WORDS);
  const split = items.map((item) => [item.slice(0, item.indexOf(" ")), item.slice(item.indexOf(" ") + 1)] as const);
  return split
    .sort(([left], [right]) => order.indexOf(left) - order.indexOf(right))
    .map(([kind, what]) => {
      const shown = cut(visible(what), LONGEST);
      return WORDS[kind]?.(shown) ?? `${kind} ${shown}`;
    });
}

/** Items that were not agreed to. Confinement needs no agreement. */
export function addedItems(items: readonly string[], agreed: readonly string[]): readonly string[] {
  return items.filter((item) => !agreed.includes(item) && !item.startsWith("confined "));
}
