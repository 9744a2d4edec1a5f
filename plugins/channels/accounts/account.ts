/**
 * Supervises one account of a channel: runs it, restarts it with back-off when a run ends, and tracks its state.
 *
 * Accounts are independent of each other. After a reload, the new run of an account starts when its old run has ended.
 */
import { AnySignal } from "@svc/kit/time";
import { type Clock, type Contribution, isGatewayError, type Logger, pause, unavailable } from "@svc/sdk";
import {
  type Channel,
  type ChannelAccount,
  type ChannelReport,
  type ChannelRun,
  type InboundMessage,
  type MenuCommand,
  openAccountState,
  type Receipt,
  type StateRecord,
} from "@svc/sdk/channels";
import { secretsOf, toldError } from "./hidden.ts";
import { pauseMs } from "./pauses.ts";

/** Choice: milliseconds of connection after which earlier failures no longer count. */
export const STEADY_MS = 30_000;
/** Milliseconds a run may take to end when it is stopped; a plugin has 5 s for its whole stop. */
export const LET_GO_MS = 3_000;

export interface AccountOptions {
  readonly contribution: Contribution<Channel>;
  readonly account: ChannelAccount;
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  /** 0..1 */
  readonly random: () => number;
  /** Calls the channel so that unhandled errors are attributed to it. */
  readonly call: <R>(contribution: Contribution<Channel>, work: (channel: Channel) => R) => R;
  readonly receive: (from: AccountRun, message: InboundMessage) => Promise<Receipt>;
  /** Called when the account has connected. */
  readonly connected: (from: AccountRun) => void;
  readonly state: (from: AccountRun) => StateRecord;
  /** Commands of the gateway, for the menu of a network. */
  readonly commands: () => readonly MenuCommand[];
}

/** State of an account. Times: epoch ms. */
export interface AccountState {
  readonly phase: "stopped" | "running" | "pausing" | "needs-login" | "logged-out";
  readonly report?: ChannelReport;
  /** Consecutive runs that ended. */
  readonly failures: number;
  readonly nextAttemptAt?: number;
  readonly lastStartAt?: number;
  readonly lastStopAt?: number;
  readonly lastConnectedAt?: number;
  readonly lastDisconnect?: { readonly at: number; readonly error?: string; readonly loggedOut?: boolean };
  readonly lastInboundAt?: number;
  readonly lastOutboundAt?: number;
  readonly lastError?: string;
  /** Last time the network proved that the connection works. */
  readonly lastProofAt?: number;
}

export class AccountRun {
  readonly contribution: Contribution<Channel>;
  readonly account: ChannelAccount;
  /** Texts that must not appear in status or log. */
  readonly secrets: readonly string[];
  readonly #options: AccountOptions;
  readonly #stopping = new AbortController();
  #state: AccountState = { phase: "stopped", failures: 0 };
  #supervised: Promise<void> = Promise.resolve();
  /** Elapsed ms. */
  #connectedSince: number | undefined;

  constructor(options: AccountOptions) {
    this.#options = options;
    this.contribution = options.contribution;
    this.account = options.account;
    this.secrets = secretsOf(options.account.settings);
  }

  get channel(): string {
    return this.contribution.id;
  }

  get id(): string {
    return this.account.id;
  }

  get state(): AccountState {
    return this.#state;
  }

  /** Resolves when the account has no run any more. */
  get letGo(): Promise<void> {
    return this.#supervised;
  }

  /** @param before the run starts when this promise has resolved, e.g. when the run from before a reload has ended */
  start(before: Promise<void> = Promise.resolve()): void {
    this.#supervised = this.#supervise(before);
  }

  /** Resolves when the run has ended, or after 3 s. Safe to call twice. @param phase the phase afterwards */
  async stop(phase: "stopped" | "logged-out" = "stopped"): Promise<void> {
    this.#stopping.abort();
    if (!(await this.#hasLetGo(this.#supervised))) this.#warn("the run of a stopped account has not ended after 3 s");
    this.#set({ phase, nextAttemptAt: undefined });
  }

  /** Records that a text was sent. */
  sent(): void {
    this.#set({ lastOutboundAt: this.#options.clock.now() });
  }

  /** Records that the network has proved that the connection works. */
  alive(): void {
    this.#set({ lastProofAt: this.#options.clock.now() });
  }

  /** Error text with secrets removed. */
  told(error: unknown): string {
    return toldError(error, this.secrets);
  }

  async #supervise(before: Promise<void>): Promise<void> {
    await this.#hasLetGo(before);
    const { clock, random } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const error = await this.#runOnce();
      if (this.#stopping.signal.aborted) break;
      if (this.#state.report?.state === "needs-login") {
        this.#set({ phase: "needs-login" });
        this.#warn("the account needs a login; it restarts only after its configuration changes");
        return;
      }
      const failures = this.#state.failures + 1;
      const inMs = pauseMs(failures, random());
      this.#set({ phase: "pausing", failures, nextAttemptAt: clock.now() + inMs });
      this.#warn("the run of an account ended; restarting", {
        reason: error ?? "it ended without an error",
        inMs,
      });
      await pause(inMs, this.#options.clock, this.#stopping.signal);
    }
    this.#set({ phase: "stopped" });
  }

  /** Runs the account once. Never rejects. @returns the error text of the run, if any */
  async #runOnce(): Promise<string | undefined> {
    const { clock, call } = this.#options;
    const ending = new AnySignal(this.#stopping.signal);
    const { signal } = ending;
    this.#set({ phase: "running", report: undefined, nextAttemptAt: undefined, lastStartAt: clock.now() });
    const run: ChannelRun = {
      accountId: this.id,
      settings: this.account.settings,
      commands: this.#options.commands(),
      signal,
      receive: async (message: InboundMessage): Promise<Receipt> => {
        if (signal.aborted) unavailable("this account was stopped; hand over the message again when it runs");
        const receipt = await this.#options.receive(this, message).catch((error: unknown) => this.#invalid(error));
        if (receipt.accepted) this.#set({ lastInboundAt: clock.now() });
        return receipt;
      },
      report: (report: ChannelReport) => {
        if (!signal.aborted) this.#reported(report);
      },
      alive: () => {
        if (!signal.aborted) this.alive();
      },
      openState: (schema) => openAccountState(schema, this.#options.state(this)),
    };
    // An error of the run is not a fault of the plugin: servers fail. An unhandled error outside of the run still is.
    const error = await call(this.contribution, async (channel) => {
      try {
        await channel.run(run);
        return undefined;
      } catch (thrown) {
        if (isGatewayError(thrown) && thrown.code === "NOT_LINKED")
          run.report({ state: "needs-login", detail: thrown.message });
        return this.told(thrown);
      }
    });
    ending.abort();
    this.#disconnected(error);
    this.#set({ lastStopAt: clock.now(), ...(error === undefined ? {} : { lastError: error }) });
    return error;
  }

  /** @throws the error unless the message itself is at fault: to submit that again would be pointless */
  #invalid(error: unknown): Receipt {
    if (!isGatewayError(error) || error.code !== "INVALID_REQUEST") throw error;
    this.#warn("an invalid message of a channel was skipped", { reason: error.message });
    return { accepted: false, reason: "invalid" };
  }

  #reported(given: ChannelReport): void {
    const { clock } = this.#options;
    const { state, detail } = given;
    const report: ChannelReport = { state, ...(detail === undefined ? {} : { detail: this.told(detail) }) };
    this.#set({ report });
    if (state !== "connected") return this.#disconnected(report.detail, state === "needs-login");
    if (this.#connectedSince !== undefined) return;
    this.#connectedSince = clock.elapsed();
    this.#set({ lastConnectedAt: clock.now(), lastError: undefined });
    this.#options.log.info({ channel: this.channel, account: this.id }, "an account is connected");
    this.#options.connected(this);
  }

  #disconnected(error: string | undefined, loggedOut = false): void {
    const since = this.#connectedSince;
    if (since === undefined) return;
    this.#connectedSince = undefined;
    const { clock } = this.#options;
    const wasSteady = clock.elapsed() - since >= STEADY_MS;
    this.#set({
      ...(wasSteady ? { failures: 0 } : {}),
      lastDisconnect: {
        at: clock.now(),
        ...(error === undefined ? {} : { error }),
        ...(loggedOut ? { loggedOut } : {}),
      },
    });
  }

  #set(change: { readonly [K in keyof AccountState]?: AccountState[K] | undefined }): void {
    this.#state = Object.fromEntries(
      Object.entries({ ...this.#state, ...change }).filter(([, value]) => value !== undefined),
    ) as unknown as AccountState; // only undefined values are removed
  }

  #warn(message: string, fields: object = {}): void {
    this.#options.log.warn({ channel: this.channel, account: this.id, ...fields }, message);
  }

  /** Waits at most 3 s for a run to end. @returns whether it ended */
  async #hasLetGo(run: Promise<void>): Promise<boolean> {
    let cancel: () => void = () => undefined;
    const late = new Promise<false>((resolve) => {
      cancel = this.#options.clock.setTimeout(() => resolve(false), LET_GO_MS);
    });
    const over = run.then(
      () => true,
      () => true,
    );
    return Promise.race([over, late]).finally(() => cancel());
  }
}
