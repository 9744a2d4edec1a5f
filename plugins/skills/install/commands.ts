/** The commands of installers. Pure. What a skill says is checked first: a word of it never becomes an option or a URL. */
import { join } from "node:path";
import { NPM_FLAGS, npmCommand } from "@svc/kit/npm";
import type { SkillsConfig } from "../config.ts";
import type { InstallSpec } from "../library/manifest.ts";

/** A command, or why the installer cannot run. */
export type InstallCommand =
  | { readonly argv: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly refusal: string };

/** What an installer may name: a package of its own registry, with an optional version. */
const NAMES: Readonly<Record<Exclude<InstallSpec["kind"], "download">, RegExp>> = {
  node: /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*(?:@[\w.^~+-]+)?$/i,
  go: /^[a-z0-9][\w.-]*\.[a-z]{2,}(?:\/[\w.~-]+)+(?:@[\w.+-]+)?$/i,
  uv: /^[a-z0-9][\w.-]*(?:\[[\w,.-]+\])?(?:==[\w.+!-]+)?$/i,
  brew: /^[a-z0-9][\w.+@-]*(?:\/[\w.+@-]+){0,2}$/i,
  apt: /^[a-z0-9][a-z0-9.+-]*$/,
};

type Settings = SkillsConfig["install"];

/** Whether `what` can only be a package of the registry of this kind: no option, path or URL. */
export function isRegistryName(kind: keyof typeof NAMES, what: string): boolean {
  return NAMES[kind].test(what) && !what.startsWith("-") && !what.split("/").includes("..");
}

/** @param home directory of the skill's programs */
export function installCommand(spec: InstallSpec, home: string, settings: Settings): InstallCommand {
  const { kind, what } = spec;
  if (kind === "download") return { refusal: "a download has no command" };
  if (!isRegistryName(kind, what)) {
    return { refusal: `${JSON.stringify(what)} is not a name that ${kind} installs from its registry` };
  }
  switch (kind) {
    case "node":
      return { argv: nodeCommand(what, home, settings.nodeManager), env: {} };
    case "go": {
      const module = what.includes("@") ? what : `${what}@latest`;
      return {
        argv: ["go", "install", module],
        env: { GOBIN: join(home, "bin"), GOFLAGS: "-mod=mod", CGO_ENABLED: "0" },
      };
    }
    case "uv": // building a source package would run its code
      return {
        argv: ["uv", "tool", "install", "--no-build", what],
        env: { UV_TOOL_DIR: join(home, "uv"), UV_TOOL_BIN_DIR: join(home, "bin") },
      };
    case "brew":
      return system(["brew", "install", what], settings);
    case "apt":
      return system(["apt-get", "install", "--yes", "--no-install-recommends", what], settings);
  }
}

function nodeCommand(what: string, home: string, manager: Settings["nodeManager"]): readonly string[] {
  switch (manager) {
    case "npm":
      return [...npmCommand(process.execPath), "install", "--prefix", home, ...NPM_FLAGS, what];
    case "pnpm":
      return ["pnpm", "add", "--dir", home, "--ignore-scripts", what];
    case "yarn":
      return ["yarn", "--cwd", home, "add", "--ignore-scripts", what];
    case "bun":
      return ["bun", "add", "--cwd", home, "--ignore-scripts", what];
  }
}

function system(argv: readonly string[], { allowSystem }: Settings): InstallCommand {
  if (allowSystem) return { argv, env: { HOMEBREW_NO_AUTO_UPDATE: "1", DEBIAN_FRONTEND: "noninteractive" } };
  return {
    refusal: `this changes the machine, so run it yourself there: ${argv.join(" ")}\nNext: run it, or let the gateway do it: svc config set skills.install.allowSystem true`,
  };
}
