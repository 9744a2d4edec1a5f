/** Browsers by profile: one process each, started on use, restarted after a crash, stopped when idle. */
import type { Connect, Resolve } from "@svc/kit/net";
import { type Clock, invalidRequest, type Logger, notFound, Turns, unavailable } from "@svc/sdk";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { BrowserConfig, ProfileConfig } from "../config.ts";
import type { FileStore } from "../files.ts";
import { createVet } from "../guard/policy.ts";
import { type Guard, startGuard } from "../guard/proxy.ts";
import { addressOf, attach, isHeadless, launch, type Opened } from "./launch.ts";
import { answerOf, CLOSE_MS, Tab } from "./tab.ts";

const DEFAULT_PROFILE = "default";
/** A further tab closes the least recently used one; further popups are closed as they open. */
const MAX_TABS = 50;
const MAX_PROFILES = 100;
const EMPTY = "about:blank";
/** Time in ms for a running browser to open an empty page. */
const ANSWER_MS = 20_000;

export interface BrowsersDeps {
  readonly config: BrowserConfig;
  /** Private directory of the plugin. */
  readonly stateDir: string;
  readonly files: FileStore;
  readonly clock: Pick<Clock, "now" | "setTimeout" | "setInterval">;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly resolve: Resolve;
  readonly connect: Connect;
}

/** The running browser of one profile. */
export interface Running extends Opened {
  readonly profile: string;
  readonly guard: Guard;
  /** By id; the last used one is last. */
  readonly tabs: Map<string, Tab>;
  /** The tab that calls without `targetId` use, by owner. */
  readonly current: Map<string | undefined, string>;
  /** Pages that `newTab` opens right now; other new pages were opened by pages. */
  opening: number;
  /** Owner of the newest call: pages that name no opener belong to it. */
  lastOwner: string | undefined;
  /** Set while a trace is recorded; cancels its time limit. */
  endTrace?: () => void;
}

export class Browsers {
  readonly #deps: BrowsersDeps;
  readonly #running = new Map<string, Running>();
  readonly #turns = new Turns();
  readonly #idle = new Map<string, () => void>();
  /** Profiles that were opened: their browsers may run, or start right now. */
  readonly #opened = new Set<string>();
  #isStopped = false;
  #guard: Promise<Guard> | undefined;
  #nextTab = 1;

  constructor(deps: BrowsersDeps) {
    this.#deps = deps;
  }

  get config(): BrowserConfig {
    return this.#deps.config;
  }

  get defaultProfile(): string {
    return this.config.defaultProfile ?? DEFAULT_PROFILE;
  }

  /** The guard, which lives from the first use to the stop of the plugin. */
  guard(): Promise<Guard> {
    const { connect, clock, config, resolve } = this.#deps;
    this.#guard ??= startGuard({ vet: createVet(config.ssrfPolicy, resolve), connect, clock });
    return this.#guard;
  }

  get(profile: string): Running | undefined {
    return this.#running.get(profile);
  }

  /** The browser of a profile, started if needed. @throws GatewayError `INVALID_REQUEST`, `UNAVAILABLE` */
  async open(profile: string): Promise<Running> {
    await this.#requireKnown(profile);
    this.#opened.add(profile);
    return this.#turns.take(profile, async () => {
      if (this.#isStopped) unavailable("the browser plugin was stopped");
      const running = this.#running.get(profile) ?? (await this.#start(profile));
      this.touch(profile);
      return running;
    });
  }

  /** Whether there was a browser to stop. */
  async stop(profile: string): Promise<boolean> {
    return this.#stopIf(profile, () => true);
  }

  /** Stops all browsers, also those that start right now; none starts afterwards. */
  async stopAll(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#opened].map((profile) => this.stop(profile)));
    await (await this.#guard)?.close();
  }

  /** Starts the idle time of a profile anew. */
  touch(profile: string): void {
    const { clock, config, log } = this.#deps;
    this.#idle.get(profile)?.();
    this.#idle.delete(profile);
    if (config.idleMinutes === 0) return;
    const stop = () => {
      log.info({ profile }, "a browser is stopped because nobody used it");
      void this.stop(profile);
    };
    this.#idle.set(profile, clock.setTimeout(stop, config.idleMinutes * 60_000));
  }

  async profiles(): Promise<Record<string, unknown>[]> {
    const names = new Set([this.defaultProfile, ...Object.keys(this.config.profiles), ...(await this.#directories())]);
    return [...names].toSorted().map((name) => {
      const { cdpUrl, color = this.config.color } = this.#settingsOf(name);
      const isDefault = name === this.defaultProfile;
      const tabs = this.#running.get(name)?.tabs.size;
      const isRemote = cdpUrl !== undefined || (isDefault && this.config.cdpUrl !== undefined);
      return { name, isDefault, isRemote, running: tabs !== undefined, tabs: tabs ?? 0, ...(color ? { color } : {}) };
    });
  }

  async create(profile: string): Promise<void> {
    const names = await this.#directories();
    if (names.includes(profile) || profile in this.config.profiles || profile === this.defaultProfile)
      invalidRequest(`the profile "${profile}" exists`);
    if (names.length >= MAX_PROFILES) invalidRequest(`there are ${MAX_PROFILES} profiles; delete one first`);
    await mkdir(this.#directoryOf(profile), { recursive: true, mode: 0o700 });
  }

  /** Stops the browser of a profile and deletes its data; the profile stays. */
  async reset(profile: string): Promise<void> {
    await this.#empty(profile);
    await mkdir(this.#directoryOf(profile), { recursive: true, mode: 0o700 });
  }

  async remove(profile: string): Promise<void> {
    if (profile in this.config.profiles)
      invalidRequest(`the profile "${profile}" is configured; remove browser.profiles.${profile}`);
    if (profile === this.defaultProfile)
      invalidRequest(`"${profile}" is the default profile; empty it with POST /reset-profile`);
    await this.#empty(profile);
  }

  /** @throws GatewayError `NOT_FOUND` */
  async facts(profile: string): Promise<Record<string, unknown>> {
    await this.#requireKnown(profile);
    const { config } = this;
    const running = this.#running.get(profile);
    const version = running?.context.browser()?.version();
    return {
      enabled: true,
      profile,
      running: running !== undefined,
      ...(running ? { isRemote: running.isRemote, tabs: running.tabs.size } : {}),
      ...(version ? { version } : {}),
      headless: isHeadless(config),
      noSandbox: config.noSandbox,
      evaluateEnabled: config.evaluateEnabled,
    };
  }

  /**
   * A new page, and its tab. A browser that shows no page yet and does not answer is started once more.
   * @throws GatewayError `UNAVAILABLE`
   */
  async newTab(running: Running, owner: string | undefined, isSecondTry = false): Promise<Tab> {
    const { clock, log } = this.#deps;
    const { profile } = running;
    const [leastUsed] = running.tabs.values();
    if (running.tabs.size >= MAX_TABS) await leastUsed?.close();
    running.opening += 1;
    try {
      const page = await answerOf(running.context.newPage(), ANSWER_MS, clock);
      if (page) return this.#adopt(running, page, owner) ?? unavailable("the page was closed");
    } finally {
      running.opening -= 1;
    }
    const isUsed = [...running.tabs.values()].some(({ page }) => page.url() !== EMPTY);
    if (isSecondTry || isUsed || running.isRemote)
      unavailable(`the browser of the profile "${profile}" does not answer; stop it with POST /stop, and try again`);
    log.warn({ profile }, "a browser did not answer after its start; it is started again");
    await this.#stopIf(profile, (current) => current === running);
    return this.newTab(await this.open(profile), owner, true);
  }

  async #start(profile: string): Promise<Running> {
    const { config, log } = this.#deps;
    const guard = await this.guard();
    const address = addressOf(config, this.#settingsOf(profile), profile === this.defaultProfile);
    const place = { directory: this.#directoryOf(profile), incoming: this.#incomingOf(profile) };
    if (address === undefined) await rm(place.incoming, { recursive: true, force: true }); // left by a crash
    const opened = await (address === undefined ? launch(config, guard, place) : attach(address, config));
    const running: Running = {
      ...opened,
      profile,
      guard,
      tabs: new Map(),
      current: new Map(),
      opening: 0,
      lastOwner: undefined,
    };
    this.#running.set(profile, running);
    for (const page of running.context.pages()) this.#adopt(running, page, undefined);
    running.context.on("page", (page) => void this.#arrived(running, page));
    running.context.once("close", () => {
      if (this.#running.get(profile) !== running) return;
      log.warn({ profile }, "a browser ended; the next call starts it again");
      this.#forget(profile);
    });
    log.info({ profile }, "a browser was started");
    return running;
  }

  /** A page that another page opened belongs to the same owner. */
  async #arrived(running: Running, page: Page): Promise<void> {
    if (running.opening > 0) return;
    if (running.tabs.size >= MAX_TABS) return void page.close().catch(() => undefined);
    const opener = await page.opener();
    const parent = [...running.tabs.values()].find((tab) => tab.page === opener);
    this.#adopt(running, page, parent ? parent.owner : running.lastOwner);
  }

  #adopt(running: Running, page: Page, owner: string | undefined): Tab | undefined {
    if (page.isClosed()) return undefined;
    const known = [...running.tabs.values()].find((tab) => tab.page === page);
    if (known) return known;
    const { clock, files } = this.#deps;
    const tab = new Tab(`t${this.#nextTab++}`, page, owner, {
      clock,
      files,
      incoming: this.#incomingOf(running.profile),
    });
    running.tabs.set(tab.id, tab);
    running.current.set(owner, tab.id);
    page.once("close", () => {
      running.tabs.delete(tab.id);
      const left = [...running.tabs.values()].findLast((other) => other.owner === owner);
      if (running.current.get(owner) === tab.id) {
        if (left) running.current.set(owner, left.id);
        else running.current.delete(owner);
      }
    });
    return tab;
  }

  async #empty(profile: string): Promise<void> {
    await this.#requireKnown(profile);
    await this.stop(profile);
    await rm(this.#directoryOf(profile), { recursive: true, force: true, maxRetries: 10 });
  }

  async #stopIf(profile: string, isMeant: (running: Running) => boolean): Promise<boolean> {
    return this.#turns.take(profile, async () => {
      const running = this.#running.get(profile);
      if (running === undefined || !isMeant(running)) return false;
      this.#forget(profile);
      const ended = () => true; // also one that ended meanwhile, and cannot be closed
      const closing = running.close().then(ended, ended);
      if (await answerOf(closing, CLOSE_MS, this.#deps.clock)) return true;
      await running.kill();
      await answerOf(closing, CLOSE_MS, this.#deps.clock);
      return true;
    });
  }

  #forget(profile: string): void {
    this.#idle.get(profile)?.();
    this.#idle.delete(profile);
    this.#running.get(profile)?.endTrace?.();
    this.#running.delete(profile);
  }

  #settingsOf(profile: string): ProfileConfig {
    return this.config.profiles[profile] ?? {};
  }

  async #requireKnown(profile: string): Promise<void> {
    if (profile === this.defaultProfile || profile in this.config.profiles) return;
    if (!(await this.#directories()).includes(profile))
      notFound(`there is no profile "${profile}"; create it with POST /profiles/create`);
  }

  async #directories(): Promise<string[]> {
    return readdir(join(this.#deps.stateDir, "profiles")).catch(() => []);
  }

  #directoryOf(profile: string): string {
    return join(this.#deps.stateDir, "profiles", profile);
  }

  #incomingOf(profile: string): string {
    return join(this.#deps.stateDir, "incoming", profile);
  }
}
