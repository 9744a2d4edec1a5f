/** Tracks channels and accounts as plugins come, go and are replaced; runs the enabled accounts. */
import { DEFAULT_ACCOUNT } from "@svc/kit/channels";
import {
  type Clock,
  type Contribution,
  type ExtensionView,
  invalidRequest,
  type Logger,
  notFound,
  Turns,
  unavailable,
} from "@svc/sdk";
import type {
  Channel,
  ChannelAccount,
  ChannelTransport,
  InboundMessage,
  MenuCommand,
  Receipt,
  StateRecord,
} from "@svc/sdk/channels";
import type { GatewayInfo } from "@svc/sdk/gateway";
import type { PluginReport } from "@svc/sdk/plugins";
import { AccountRun } from "./account.ts";
import type { OwnedAccounts } from "./owned-accounts.ts";

/** Plugin states that are temporary. */
const LOADING: ReadonlySet<string> = new Set(["described", "staged", "starting", "reloading", "draining"]);
/** Choice: milliseconds after which to retry a request that arrived while plugins were loading. */
const RETRY_MS = 1_000;

export interface ChannelAccountsOptions {
  readonly view: ExtensionView<Channel>;
  readonly transports: ExtensionView<ChannelTransport>;
  readonly host: Pick<GatewayInfo, "plugins">;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly random: () => number;
  readonly receive: (from: AccountRun, message: InboundMessage) => Promise<Receipt>;
  readonly connected: (from: AccountRun) => void;
  readonly state: (from: AccountRun) => StateRecord;
  readonly commands: () => readonly MenuCommand[];
  readonly owned: OwnedAccounts;
}

/** An account, and its run if there is one. */
export interface Listed {
  /** The channel as it serves the account: with the functions and capabilities of its transport. */
  readonly contribution: Contribution<Channel>;
  readonly account: ChannelAccount;
  readonly run: AccountRun | undefined;
}

/** A transport that no plugin contributes, and the command that helps. */
export interface Absence {
  readonly message: string;
  readonly next: string;
}

export class ChannelAccounts {
  readonly #options: ChannelAccountsOptions;
  readonly #runs = new Map<string, AccountRun>();
  /** By account: a promise that resolves when the previous run has ended. */
  readonly #former = new Map<string, Promise<void>>();
  /** By the transport: the channel as it serves accounts. The same object as long as both plugins stay. */
  readonly #served = new WeakMap<ChannelTransport, { readonly channel: Channel; readonly by: Contribution<Channel> }>();
  readonly #sources = new WeakMap<Contribution<Channel>, Contribution<ChannelTransport> | Absence>();
  readonly #turns = new Turns();
  #isStopped = false;

  constructor(options: ChannelAccountsOptions) {
    this.#options = options;
  }

  /** Channels whose plugins run, in plugin order. */
  channels(): readonly Contribution<Channel>[] {
    return this.#active(this.#options.view);
  }

  /** Transports of a channel whose plugins run. Their ids are without the channel. */
  transports(
    channel: string,
  ): readonly { readonly id: string; readonly contribution: Contribution<ChannelTransport> }[] {
    return this.#active(this.#options.transports).flatMap((contribution) => {
      const [of, id] = contribution.id.split(".", 2);
      return of === channel && id !== undefined ? [{ id, contribution }] : [];
    });
  }

  #active<T>(view: ExtensionView<T>): readonly Contribution<T>[] {
    const listed = view.list();
    if (listed.length === 0) return [];
    const { host } = this.#options;
    const active = new Set(host.plugins().flatMap(({ id, state }) => (state === "active" ? [id] : [])));
    return listed.filter(({ plugin }) => active.has(plugin));
  }

  /** The channel as it serves an account that names this transport. */
  served(channel: Contribution<Channel>, transport: ChannelAccount["transport"]): Contribution<Channel> {
    if (!transport) return channel;
    const source = this.transports(channel.id).find(({ id }) => id === transport.id)?.contribution;
    if (!source) {
      const by = { ...channel };
      const message = `no plugin contributes the transport ${channel.id}.${transport.id}`;
      this.#sources.set(by, { message, next: `svc plugins install ${transport.package}` });
      return by;
    }
    const known = this.#served.get(source.value);
    if (known?.channel === channel.value) return known.by;
    const { label, aliases, accounts } = channel.value;
    const value = { ...source.value, label, ...(aliases && { aliases }), accounts };
    const by = { id: channel.id, plugin: source.plugin, value };
    this.#served.set(source.value, { channel: channel.value, by });
    this.#sources.set(by, source);
    return by;
  }

  /** Why the transport of an account is not there. */
  absence({ contribution }: Pick<Listed, "contribution">): Absence | undefined {
    const source = this.#sources.get(contribution);
    return source && "next" in source ? source : undefined;
  }

  /** Channels with an account that runs. */
  configured(): readonly Contribution<Channel>[] {
    return this.channels().filter(({ value }) => value.accounts.some(isRun));
  }

  accounts({ id }: Contribution<Channel>): readonly Listed[] {
    const contribution = this.channels().find((channel) => channel.id === id);
    return (contribution?.value.accounts ?? []).map((account) => ({
      contribution: this.served(contribution as Contribution<Channel>, account.transport), // a channel with accounts exists
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

  /** @throws GatewayError `UNAVAILABLE`: the transport is not there */
  call<R>(contribution: Contribution<Channel>, work: (channel: Channel) => R): R {
    const { view, transports } = this.#options;
    const source = this.#sources.get(contribution);
    if (!source) return view.call(contribution, work);
    if ("next" in source) return unavailable(`${source.message}; next: ${source.next}`);
    return transports.call(source, () => work(contribution.value));
  }

  /**
   * Starts and stops runs to match the contributed accounts. Call this whenever a plugin came, went or changed, and when another gateway may have
   * given up an account. @throws GatewayError `UNAVAILABLE` the storage cannot say who owns an account; the others are started and stopped
   */
  reconcile(): Promise<void> {
    return this.#turns.take("reconcile", async () => {
      if (this.#isStopped) return;
      const { owned } = this.#options;
      const wanted = [...this.#wanted().values()];
      const taken = await Promise.allSettled(wanted.map(([{ id }, account]) => owned.take(id, account.id)));
      const retired = this.#reconcileNow();
      // An account that was removed or disabled here may run elsewhere; one whose plugin is being replaced stays.
      for (const run of retired) if (this.channel(run.channel)) await owned.release(run.channel, run.id);
      for (const outcome of taken) if (outcome.status === "rejected") throw outcome.reason;
    });
  }

  /** The accounts that are to run, by key. */
  #wanted(): ReadonlyMap<string, readonly [Contribution<Channel>, ChannelAccount]> {
    const wanted = new Map<string, readonly [Contribution<Channel>, ChannelAccount]>();
    for (const channel of this.channels())
      for (const listed of this.accounts(channel))
        if (isRun(listed.account) && this.absence(listed) === undefined)
          wanted.set(keyOf(channel.id, listed.account.id), [listed.contribution, listed.account]);
    return wanted;
  }

  /** @returns runs of accounts that are not to run any more */
  #reconcileNow(): readonly AccountRun[] {
    const wanted = this.#wanted();
    const { owned } = this.#options;
    const unwanted = [...this.#runs].filter(([key]) => !wanted.has(key));
    for (const [key, run] of unwanted) this.#retire(key, run);
    for (const [key, [contribution, account]] of wanted) {
      const old = this.#runs.get(key);
      if (old?.contribution.value === contribution.value) continue;
      if (!owned.has(contribution.id, account.id) && account.isShared !== true) continue;
      if (old) this.#retire(key, old);
      this.#begin(key, contribution, account);
    }
    return unwanted.map(([, run]) => run);
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

  /** Stops the accounts that only their owner runs; the others go on until `stop`. */
  async leave(): Promise<void> {
    this.#isStopped = true;
    const runs = [...this.#runs.values()].filter(({ account }) => account.isShared !== true);
    await Promise.all(runs.map((run) => run.stop()));
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
    const call: ChannelAccounts["call"] = (channel, work) => this.call(channel, work);
    const run = new AccountRun({ ...this.#options, contribution, account, call });
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
