/** The skills of agents: read from their sources when they are needed, and kept until they change. */
import { realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, isAbsolute, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { findOnPath, refusedVariable } from "@svc/kit/exec";
import { type Clock, invalidRequest, notFound, type Origin } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import { parseSetting, valueAt } from "@svc/sdk/cli";
import type { ConfigStore } from "@svc/sdk/config";
import { type FileOrigins, isInside } from "@svc/sdk/files";
import type { SkillProblem, SkillStatus } from "@svc/sdk/skills";
import type { SkillsConfig } from "../config.ts";
import { type Machine, statusOf } from "./eligibility.ts";
import { type Found, type ManifestCache, type Root, scan, type Skill } from "./sources.ts";

export interface LibrarySources {
  readonly agents: Pick<AgentDirectory, "list" | "defaultId" | "skills">;
  readonly config: () => SkillsConfig;
  /** State directory of the gateway. */
  readonly stateDir: () => string;
  readonly origins: () => Pick<FileOrigins, "of"> | undefined;
  readonly store: () => Pick<ConfigStore, "snapshot"> | undefined;
  readonly clock: Pick<Clock, "elapsed">;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home?: string;
  /** Directory of the bundled skills. */
  readonly bundled?: string;
}

/** A skill of an agent, with its state. */
export interface Judged {
  readonly skill: Skill;
  readonly status: SkillStatus;
  /** It is in the workspace of an agent, so tools of agents can write it. */
  readonly isWritable: boolean;
}

export interface Listing {
  readonly workspace: string;
  /** Sorted by name. */
  readonly all: readonly Judged[];
  readonly problems: readonly SkillProblem[];
}

/** What the state of a skill depends on, apart from the skill. */
interface Judging extends Pick<Machine, "isConfigured"> {
  readonly agentId: string;
  /** Workspaces of all agents. */
  readonly places: readonly string[];
}

/** Directories with the programs of a skill; agents cannot write there. */
export interface ToolPlaces {
  /** The directory that all installers of a skill share. */
  home(skillKey: string): string;
  /** Directories of its programs, whether they exist or not. */
  path(skillKey: string): readonly string[];
}

/** Choice: milliseconds for which the search for a program is not repeated, and maximum of remembered programs. */
const PROGRAM_TTL_MS = 10_000;
const MAX_PROGRAMS = 5_000;

/** A name of a folder for any text. */
export function folderName(text: string): string {
  return encodeURIComponent(text).replaceAll(".", "%2E");
}

export function toolPlaces(stateDir: () => string): ToolPlaces {
  const home = (skillKey: string) => join(stateDir(), "skill-tools", folderName(skillKey));
  return { home, path: (key) => [join(home(key), "bin"), join(home(key), "node_modules", ".bin")] };
}

export class Library {
  readonly tools: ToolPlaces;
  readonly #sources: LibrarySources;
  readonly #manifests: ManifestCache = new Map();
  readonly #scans = new Map<string, { readonly at: number; readonly found: Promise<Found> }>();
  readonly #programs = new Map<string, { readonly at: number; readonly file: string | undefined }>();
  readonly #places = new Map<string, { readonly at: number; readonly found: Promise<string> }>();

  constructor(sources: LibrarySources) {
    this.#sources = sources;
    this.tools = toolPlaces(sources.stateDir);
  }

  get managedDir(): string {
    return join(this.#sources.stateDir(), "skills");
  }

  /** After the configuration, programs or installed skills changed. */
  forget(): void {
    this.#scans.clear();
    this.#manifests.clear();
    this.#programs.clear();
    this.#places.clear();
  }

  /** @throws GatewayError `INVALID_REQUEST` for an unknown agent */
  async of(agentId: string): Promise<Listing> {
    const { agents, home = homedir() } = this.#sources;
    const agent = agents.list().find(({ id }) => id === agentId);
    if (!agent) return invalidRequest(`there is no agent "${agentId}"; see svc agents list`);
    const { workspace } = agent;
    const found = await Promise.all(this.#roots(workspace, home).map((root) => this.#scan(root)));
    const byName = new Map(found.flatMap(({ skills }) => skills).map((skill) => [skill.name, skill])); // the last source wins
    const all = [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const isConfigured = await this.#configured(all);
    const places = await Promise.all(agents.list().map((one) => this.#placeOf(one.workspace)));
    const judged = all.map((skill) => this.#judge(skill, { agentId, places, isConfigured }));
    return { workspace, all: await Promise.all(judged), problems: found.flatMap(({ problems }) => problems) };
  }

  #scan(root: Root): Promise<Found> {
    const { config } = this.#sources;
    const key = `${root.source}\0${root.directory}`;
    return this.#recent(this.#scans, key, () => scan(root, config().limits, this.#manifests));
  }

  #placeOf(workspace: string): Promise<string> {
    return this.#recent(this.#places, workspace, () => realpath(workspace).catch(() => workspace));
  }

  /** What was found a moment ago: runs that begin together do not search again. */
  #recent<T>(kept: Map<string, { readonly at: number; readonly found: T }>, key: string, find: () => T): T {
    const { config, clock } = this.#sources;
    const { watch, watchDebounceMs } = config().load;
    const known = kept.get(key);
    const now = clock.elapsed();
    if (known && (!watch || now - known.at < watchDebounceMs)) return known.found;
    const found = find();
    kept.set(key, { at: now, found });
    return found;
  }

  /** A skill of the agent. @throws GatewayError `NOT_FOUND` naming the others */
  async find(agentId: string, name: string): Promise<Judged> {
    const { all } = await this.of(agentId);
    const found = all.find(({ skill }) => skill.name === name);
    return found ?? notFound(`there is no skill ${JSON.stringify(name.slice(0, 100))}; see svc skills list`);
  }

  /** Key of the skill in a folder of `managedDir`, even if another skill of its name hides it. */
  async installedKey(folder: string): Promise<string | undefined> {
    const { skills } = await this.#scan({ source: "svc-managed", directory: this.managedDir });
    return skills.find(({ baseDir }) => basename(baseDir) === folder)?.skillKey;
  }

  /** A program of the skill: of its own installers, or of `PATH`. */
  async program(skillKey: string, name: string): Promise<string | undefined> {
    const path = [...this.tools.path(skillKey), this.#sources.env["PATH"] ?? ""].join(":");
    const key = `${skillKey}\0${name}`;
    const known = this.#programs.get(key);
    const now = this.#sources.clock.elapsed();
    if (known && now - known.at < PROGRAM_TTL_MS) return known.file;
    const file = await findOnPath(name, { path, platform: process.platform });
    if (this.#programs.size >= MAX_PROGRAMS) this.#programs.clear();
    this.#programs.set(key, { at: now, file });
    return file;
  }

  /** A variable of the gateway's environment that the skill declares. Never for a skill that agents can write. */
  inherited({ isWritable }: Pick<Judged, "isWritable">, variable: string): string | undefined {
    return isWritable || refusedVariable(variable) !== undefined ? undefined : this.#sources.env[variable];
  }

  /** Lowest precedence first. Spec: methods-skills.md §1 `source`. */
  #roots(workspace: string, home: string): readonly Root[] {
    const { config, bundled = fileURLToPath(new URL("../bundled/", import.meta.url)) } = this.#sources;
    const extra = config().load.extraDirs.map((directory) => directory.replace(/^~(?=\/|$)/, home));
    return [
      ...extra.filter(isAbsolute).map((directory) => ({ source: "svc-extra" as const, directory })),
      { source: "svc-bundled", directory: bundled },
      { source: "svc-managed", directory: this.managedDir },
      { source: "agents-skills-personal", directory: join(home, ".agents", "skills") },
      { source: "agents-skills-project", directory: join(workspace, ".agents", "skills"), workspace },
      { source: "svc-workspace", directory: join(workspace, "skills"), workspace },
    ];
  }

  async #judge(skill: Skill, { agentId, places, isConfigured }: Judging): Promise<Judged> {
    const { agents, config } = this.#sources;
    const { needs, install, skillKey, baseDir, filePath } = skill;
    const isWritable = places.some((place) => isInside(place, baseDir));
    const names = new Set([...needs.bins, ...needs.anyBins, ...(install.length > 0 ? ["brew"] : [])]);
    const programs = new Map(
      await Promise.all([...names].map(async (name) => [name, await this.program(skillKey, name)] as const)),
    );
    const machine: Machine = {
      platform: process.platform,
      hasProgram: (name) => programs.get(name) !== undefined,
      hasVariable: (name) => Boolean(this.inherited({ isWritable }, name)),
      isConfigured,
    };
    const isOutside = isWritable && (await this.originOf(filePath)) !== undefined;
    const rules = { config: config(), allowed: agents.skills(agentId), isWritable, isOutside };
    return { skill, isWritable, status: statusOf(skill, machine, rules) };
  }

  /**
   * Origin of a file of a skill; `undefined`: the owner, or a place where agents cannot write.
   * @param path absolute, without links
   */
  async originOf(path: string): Promise<Origin | undefined> {
    const { agents, origins } = this.#sources;
    for (const { id, workspace } of agents.list()) {
      const place = await realpath(workspace).catch(() => workspace);
      if (!isInside(place, path)) continue;
      const origin = await origins()?.of(id, [relative(place, path)]);
      if (origin !== undefined) return origin;
    }
    return undefined;
  }

  /** Reads the configuration only if a skill asks for a value in it. */
  async #configured(all: readonly Skill[]): Promise<Machine["isConfigured"]> {
    const store = all.some(({ needs }) => needs.config.length > 0) ? this.#sources.store() : undefined;
    const snapshot = await store?.snapshot();
    return (path) => Boolean(valueAt(snapshot?.config, parseSetting(path)));
  }
}
