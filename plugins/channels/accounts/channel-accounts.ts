/** Tracks channels and accounts as plugins come, go and are replaced; runs the enabled accounts. */
import { DEFAULT_ACCOUNT } from "@svc/kit/channels";
import {
  type Clock,
  type Contribution,
  type ExtensionView,
  invalidRequest,
  type Logger,
  notFound,
  unavailable,
} from "@svc/sdk";
import type { Channel, ChannelAccount, InboundMessage, MenuCommand, Receipt } from "@svc/sdk/channels";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { PluginReport } from "@svc/sdk/plugins";
import { AccountRun } from "./account.ts";

/** Plugin states that are temporary. */
const LOADING: ReadonlySet<string> = new Set(["described", "staged", "starting", "reloading", "draining"]);
/** Choice: milliseconds after which to retry a request that arrived while plugins were loading. */
const RETRY_MS = 1_000;

export interface ChannelAccountsOptions {
  readonly view: ExtensionView<Channel>;
  readonly host: Pick<GatewayInfo, "plugins">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly random: () => number;
  readonly receive: (from: AccountRun, message: InboundMessage) => Promise<Receipt>;
  readonly connected: (from: AccountRun) => void;
  readonly commands: () => readonly MenuCommand[];
}

/** An account, and its run if there is one. */
export interface Listed {
  readonly contribution: Contribution<Channel>;
  readonly account: ChannelAccount;
  readonly run: AccountRun | undefined;
}

export class ChannelAccounts {
  readonly #options: ChannelAccountsOptions;
  readonly #runs = new Map<string, AccountRun>();
  /** By account: a promise that resolves when the previous run has ended. */
  readonly #former = new Map<string, Promise<void>>();
  #isStopped = false;

  constructor(options: ChannelAccountsOptions) {
    this.#options = options;
  }

  /** Channels whose plugins run, in plugin order. */
  channels(): readonly Contribution<Channel>[] {
    const { view, host } = this.#options;
    const listed = view.list();
    if (listed.length === 0) return [];
    const active = new Set(host.plugins().flatMap(({ id, state }) => (state === "active" ? [id] : [])));
    return listed.filter(({ plugin }) => active.has(plugin));
  }

  /** Channels with an account that runs. */
  configured(): readonly Contribution<Channel>[] {
    return this.channels().filter(({ value }) => value.accounts.some(isRun));
  }

  accounts({ id }: Contribution<Channel>): readonly Listed[] {
    const contribution = this.channels().find((channel) => channel.id === id);
    return (contribution?.value.accounts ?? []).map((account) => ({
      contribution: contribution as Contribution<Channel>, // a channel with accounts exists
      account,
      run: this.#runs.get(keyOf(id, account.id)),
    }));
  }

  /** @param accountId default: the channel's default account */
  account(channel: Contribution<Channel>, accountId: string = defaultAccountOf(channel.value)): Listed | undefined {
    return this.accounts(channel).find(({ account }) => account.id === accountId);
  }

  /** Channel id for a name, a label or an alias. */
  channelId(name: string): string | undefined {
    const wanted = name.trim().toLowerCase();
    const all = this.channels();
    const named = ({ id, value }: Contribution<Channel>) =>
      id === wanted || value.label.toLowerCase() === wanted || value.aliases?.includes(wanted) === true;
    return (all.find(({ id }) => id === wanted) ?? all.find(named))?.id;
  }

  channel(id: string): Contribution<Channel> | undefined {
    return this.channels().find((channel) => channel.id === id);
  }

  /**
   * The channel that a request names, or the only configured one.
   * @throws GatewayError `NOT_FOUND` for an unknown name, `INVALID_REQUEST` without a unique default, `UNAVAILABLE` while a plugin that may contribute it is loading
   */
  chosen(name: string | undefined): Contribution<Channel> {
    const all = this.channels();
    if (name !== undefined && name.trim() !== "") {
      const id = this.channelId(name);
      return all.find((channel) => channel.id === id) ?? notFound(this.missing(name));
    }
    const [only, other] = this.configured();
    if (only && !other) return only;
    if (only) return invalidRequest(`several channels are configured; name one; ${this.#known()}`);
    this.#refuseWhileLoading();
    return invalidRequest(`no channel is configured; ${this.#known()}`);
  }

  /** @throws GatewayError `NOT_FOUND` */
  chosenAccount(channel: Contribution<Channel>, accountId: string | undefined): Listed {
    const id = accountId?.trim() || defaultAccountOf(channel.value);
    const known = channel.value.accounts.map((account) => account.id).join(", ") || "none";
    return this.account(channel, id) ?? notFound(`channel ${channel.id} has no account "${id}"; accounts: ${known}`);
  }

  /**
   * Why the named channel is absent, for people.
   * @throws GatewayError `UNAVAILABLE` while a plugin that may contribute it is loading, or waits for its next start attempt
   */
  missing(name: string): string {
    this.#refuseWhileLoading();
    const { host, clock } = this.#options;
    const id = name.trim().toLowerCase();
    const plugin = host.plugins().find((report) => report.id.toLowerCase() === id);
    if (!plugin || plugin.state === "active") return `unknown channel "${name}"; ${this.#known()}`;
    const why = `channel ${plugin.id} is not loaded: its plugin is ${plugin.state}${plugin.reason ? `: ${plugin.reason}` : ""}`;
    if (plugin.retryAt === undefined) return `${why}; see: svc plugins why ${plugin.id}`;
    return unavailable(why, { retryAfterMs: Math.max(RETRY_MS, plugin.retryAt - clock.now()) });
  }

  /** Whether an absent channel may become available shortly. */
  isLoading(): boolean {
    return this.#loading().length > 0;
  }

  /** Choice: any plugin that is loading may contribute a channel; this is not known before it has loaded. */
  #loading(): readonly PluginReport[] {
    return this.#options.host.plugins().filter(({ state }) => LOADING.has(state));
  }

  #refuseWhileLoading(): void {
    const loading = this.#loading();
    if (loading.length === 0) return;
    unavailable(`plugins are loading: ${loading.map(({ id }) => id).join(", ")}`, { retryAfterMs: RETRY_MS });
  }

  #known(): string {
    const ids = this.channels().map(({ id }) => id);
    return ids.length === 0 ? "no channel is loaded; see: svc plugins list" : `channels: ${ids.join(", ")}`;
  }

  call<R>(contribution: Contribution<Channel>, work: (channel: Channel) => R): R {
    return this.#options.view.call(contribution, work);
  }

  /** Starts and stops runs to match the contributed accounts. Call this whenever a plugin came, went or changed. */
  reconcile(): void {
    if (this.#isStopped) return;
    const wanted = new Map<string, readonly [Contribution<Channel>, ChannelAccount]>();
    for (const contribution of this.channels())
      for (const account of contribution.value.accounts)
        if (isRun(account)) wanted.set(keyOf(contribution.id, account.id), [contribution, account]);
    for (const [key, run] of this.#runs) if (!wanted.has(key)) this.#retire(key, run);
    for (const [key, [contribution, account]] of wanted) {
      const old = this.#runs.get(key);
      if (old?.contribution.value === contribution.value) continue;
      if (old) this.#retire(key, old);
      this.#begin(key, contribution, account);
    }
  }

  /** Stops an account for good. */
  async loggedOut(run: AccountRun): Promise<void> {
    await run.stop("logged-out");
  }

  /** Restarts a stopped account. */
  restart(run: AccountRun): void {
    const key = keyOf(run.channel, run.id);
    if (this.#isStopped || this.#runs.get(key) !== run) return;
    this.#retire(key, run);
    this.#begin(key, run.contribution, run.account);
  }

  /** Stops all accounts. Safe to call twice. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#runs.values()].map((run) => run.stop()));
  }

  #retire(key: string, run: AccountRun): void {
    this.#runs.delete(key);
    void run.stop();
    this.#former.set(key, run.letGo);
  }

  #begin(key: string, contribution: Contribution<Channel>, account: ChannelAccount): void {
    const { clock, log, random, receive, connected, commands } = this.#options;
    const call: ChannelAccounts["call"] = (channel, work) => this.call(channel, work);
    const run = new AccountRun({ contribution, account, clock, log, random, call, receive, connected, commands });
    this.#runs.set(key, run);
    run.start(this.#former.get(key));
  }
}

/** Whether the account is to run. */
export function isRun({ enabled = true, configured = true }: ChannelAccount): boolean {
  return enabled && configured;
}

export function defaultAccountOf({ accounts }: Channel): string {
  const named =
    accounts.find(({ isDefault }) => isDefault === true) ??
    accounts.find(({ id }) => id === DEFAULT_ACCOUNT) ??
    accounts.find(isRun) ??
    accounts[0];
  return named?.id ?? DEFAULT_ACCOUNT;
}

function keyOf(channel: string, accountId: string): string {
  return JSON.stringify([channel, accountId]);
}
