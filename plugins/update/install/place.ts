/** Finds out how this gateway is installed, and thereby how to update it. Pure; `facts.ts` reads the facts. */

/** Location of the host's package, by its path alone. */
export type Place =
  | { readonly kind: "checkout"; readonly root: string }
  /** `root` contains the outermost `node_modules`; `host` is the path of the host's package relative to `root`. */
  | { readonly kind: "modules"; readonly root: string; readonly host: string };

/** A package of this project at the top of `node_modules`. */
export interface OwnPackage {
  readonly name: string;
  /** The package is a symbolic link, e.g. of `npm link`. */
  readonly isLink: boolean;
}

/** Facts about the installation on disk. */
export interface PlaceFacts {
  /** Names of the entries in the root. */
  readonly entries: readonly string[];
  /** package.json of the root; `undefined`: there is none. */
  readonly packageJson: Readonly<Record<string, unknown>> | undefined;
  /** The directory belongs to the user of this process, or the platform has no such owner. */
  readonly isOwn: boolean;
  readonly isWritable: boolean;
  readonly own: readonly OwnPackage[];
  readonly platform: NodeJS.Platform;
}

export type Mode = "git" | "npm" | "pnpm" | "bun" | "unknown";

/** Why the installation cannot be updated, and how to update it by hand. */
export interface Refusal {
  /** Reason code. */
  readonly reason: string;
  /** A sentence. */
  readonly why: string;
  /** Command lines. */
  readonly byHand: readonly string[];
}

export type Installation =
  | { readonly mode: "git"; readonly root: string; readonly host: string; readonly refusal?: Refusal }
  | {
      readonly mode: "npm";
      readonly root: string;
      readonly host: string;
      /** `global`: installed by `npm install --global`, with the prefix above the root. */
      readonly layout: "project" | "global";
      /** Requested packages of this project. */
      readonly packages: readonly string[];
      readonly refusal?: Refusal;
    }
  | { readonly mode: "pnpm" | "bun" | "unknown"; readonly root?: string; readonly refusal: Refusal };

/** @param hostDirectory absolute, without symbolic links */
export function placeOf(hostDirectory: string): Place {
  const parts = hostDirectory.split(/[\\/]/);
  const at = parts.indexOf("node_modules");
  if (at < 0) return { kind: "checkout", root: parts.slice(0, -1).join("/") || "/" };
  return { kind: "modules", root: parts.slice(0, at).join("/") || "/", host: parts.slice(at).join("/") };
}

/** Whether an update replaces the package: all packages of this project share one version. */
export function isOwnPackage(name: string): boolean {
  return name === "svc" || name.startsWith("@svc/");
}

export function installationOf(place: Place, facts: PlaceFacts): Installation {
  const found = place.kind === "checkout" ? checkout(place.root, facts) : modules(place, facts);
  if (found.mode !== "git" && found.mode !== "npm") return found;
  const refusal = found.refusal ?? rights(found.root, facts, found.mode);
  return refusal ? { ...found, refusal } : found;
}

function checkout(root: string, { entries, packageJson }: PlaceFacts): Installation {
  const isWorkspace = Array.isArray(packageJson?.["workspaces"]);
  if (entries.includes(".git") && isWorkspace) return { mode: "git", root, host: "host" };
  const why = `${root} is neither a git checkout nor a package that npm installed`;
  return {
    mode: "unknown",
    root,
    refusal: {
      reason: "unknown-install",
      why,
      byHand: ["npm install --global svc@latest @svc/cli@latest @svc/host@latest"],
    },
  };
}

function modules({ root, host }: Place & { kind: "modules" }, facts: PlaceFacts): Installation {
  const { entries, packageJson, own, platform } = facts;
  const names = own.map(({ name }) => name).sort();
  const other = otherTool(entries, host);
  if (other) {
    const byHand = [`cd ${root}`, `${other} update ${names.join(" ")}`];
    const why = `it was installed with ${other}, and only installations by npm or git can be updated`;
    return { mode: other === "yarn" ? "unknown" : other, root, refusal: { reason: "package-manager", why, byHand } };
  }
  const isGlobal = packageJson === undefined && /[\\/]lib$/.test(root) && platform !== "win32";
  if (packageJson === undefined && !isGlobal) {
    const why = `${root} has no package.json that lists what was installed`;
    return {
      mode: "unknown",
      root,
      refusal: { reason: "unknown-install", why, byHand: [`cd ${root}`, `npm install ${latest(names)}`] },
    };
  }
  const layout = isGlobal ? "global" : "project";
  const asked = isGlobal ? names : Object.keys(dependencies(packageJson)).filter(isOwnPackage).sort();
  const found = { mode: "npm", root, host, layout, packages: asked } as const;
  const refusal = linked(own, names, root) ?? (isGlobal ? undefined : foreign(root, packageJson, asked));
  return refusal ? { ...found, refusal } : found;
}

function otherTool(entries: readonly string[], host: string): "pnpm" | "bun" | "yarn" | undefined {
  if (host.includes("node_modules/.pnpm/") || entries.includes("pnpm-lock.yaml")) return "pnpm";
  if (entries.includes("bun.lock") || entries.includes("bun.lockb")) return "bun";
  return entries.includes("yarn.lock") ? "yarn" : undefined;
}

function dependencies(packageJson: PlaceFacts["packageJson"]): Readonly<Record<string, string>> {
  const groups = ["dependencies", "devDependencies", "optionalDependencies"].map(
    (key) => Object(packageJson?.[key]) as object,
  );
  return Object.assign({}, ...groups) as Record<string, string>; // npm refuses values other than texts
}

function linked(own: readonly OwnPackage[], names: readonly string[], root: string): Refusal | undefined {
  const link = own.find(({ isLink }) => isLink);
  if (!link) return undefined;
  const why = `${link.name} is a link to a directory under development`;
  return { reason: "linked-package", why, byHand: [`cd ${root}`, `npm install ${latest(names)}`] };
}

/** Choice: a directory with packages of other projects belongs to another program, whose owner decides about updates. */
function foreign(root: string, packageJson: PlaceFacts["packageJson"], asked: readonly string[]): Refusal | undefined {
  const all = Object.entries(dependencies(packageJson));
  const other = all.find(([name]) => !isOwnPackage(name));
  const byHand = [`cd ${root}`, `npm install ${latest(asked)}`];
  if (other)
    return { reason: "other-packages", why: `${root} also has packages of other projects, e.g. ${other[0]}`, byHand };
  const file = all.find(([, spec]) => /[:/]/.test(spec));
  if (file) return { reason: "not-from-registry", why: `${file[0]} was not installed from a registry`, byHand };
  if (asked.some((name) => ["svc", "@svc/cli", "@svc/host"].includes(name))) return undefined;
  return { reason: "unknown-install", why: `the package.json of ${root} does not name the host`, byHand };
}

function rights(root: string, { isOwn, isWritable }: PlaceFacts, mode: "git" | "npm"): Refusal | undefined {
  const byHand = mode === "git" ? gitByHand(root) : [`as the owner of ${root}: svc update`];
  if (!isOwn) return { reason: "foreign-owner", why: `${root} belongs to another user`, byHand };
  if (!isWritable) return { reason: "not-writable", why: `${root} cannot be written to`, byHand };
  return undefined;
}

/** The commands to update a checkout by hand. */
export function gitByHand(root: string): readonly string[] {
  return [`cd ${root}`, "git pull --ff-only", "npm ci", "npm run build", "svc gateway restart"];
}

function latest(names: readonly string[]): string {
  return names.map((name) => `${name}@latest`).join(" ");
}
