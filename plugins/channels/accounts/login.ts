/** Handlers of `channels.login.*` and `web.login.*`: logins in steps, kept in memory while they last. Spec: protocol/methods-channels.md §3. */
import { randomUUID } from "node:crypto";
import { ACCOUNT_ID, DEFAULT_ACCOUNT } from "@svc/kit/channels";
import { AnySignal } from "@svc/kit/time";
import {
  type Clock,
  type Contribution,
  GatewayError,
  type Handlers,
  invalidRequest,
  isGatewayError,
  notFound,
  lazy,
  type ResultOf,
  unavailable,
  untilAborted,
} from "@svc/sdk";
import type { Channel, channelLogin, LoginStep, LoginStepView, webLogin } from "@svc/sdk/channels";
import type { ConfigEdit, ConfigStore } from "@svc/sdk/config";
import { type ChannelAccounts, defaultAccountOf } from "./channel-accounts.ts";
import { toldError } from "./hidden.ts";

/** QR codes are drawn only by logins that have one. */
const qrCode = lazy(() => import("uqr"));

/** Choice: milliseconds after which an unfinished login is forgotten. */
const LOGIN_MS = 600_000;
/** Choice: unfinished logins at a time; the oldest is forgotten. */
const MAX_LOGINS = 20;
/** Phases of an account that runs again only after a login. */
const WAITING: ReadonlySet<string> = new Set(["needs-login", "logged-out"]);
/** The way of a login that the channel itself serves. */
const OWN = "";
/** Key of the answer that chooses a transport. */
const WAY = "transport";
/** An environment variable of the gateway as the whole value. */
const VARIABLE = /^\$\{([A-Z_][A-Z0-9_]*)\}$/;

interface Login {
  readonly id: string;
  readonly channel: string;
  readonly accountId: string;
  /** Transport that logs in, or `OWN`. Absent: the person has to choose. */
  readonly way?: string;
  readonly step: LoginStep;
  /** epoch ms */
  readonly startedAt: number;
  /** epoch ms at which the shown code, or the login, ends. */
  readonly expiresAt: number;
  readonly cancelled: AbortController;
}

export interface LoginSources {
  readonly accounts: ChannelAccounts;
  readonly config: Pick<ConfigStore, "edit">;
  readonly clock: Pick<Clock, "now">;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

type LoginView = ResultOf<typeof channelLogin.next>;

/** Logins in steps, for callers in this plugin; errors as those of `channels.login.*`. */
export interface LoginSteps {
  start(channel: string, accountId?: string): Promise<LoginView>;
  next(loginId: string, answers: Readonly<Record<string, string>>): Promise<LoginView>;
}

export function createLogins({ accounts, config, clock, signal }: LoginSources) {
  const logins = new Map<string, Login>();

  function keep(login: Login): void {
    for (const [id, { startedAt }] of logins) if (clock.now() - startedAt >= LOGIN_MS) logins.delete(id);
    const [oldest] = logins.keys();
    if (oldest !== undefined && logins.size >= MAX_LOGINS && !logins.has(login.id)) logins.delete(oldest);
    logins.set(login.id, login);
  }

  async function start(name: string, asked: string | undefined): Promise<Login> {
    const contribution = accounts.chosen(name);
    const accountId = accountIdOf(asked) ?? defaultAccountOf(contribution.value);
    const [way = OWN, ...more] = waysOf(contribution, accountId);
    if (more.length === 0) return begin(contribution, accountId, way);
    return remember({ channel: contribution.id, accountId, step: choiceOf(contribution) });
  }

  /** Transports that may log in to the account. An account keeps the one that its settings name. */
  function waysOf(contribution: Contribution<Channel>, accountId: string): readonly string[] {
    const account = accounts.account(contribution, accountId)?.account;
    if (account && (account.transport || account.configured !== false)) return [account.transport?.id ?? OWN];
    return [...accounts.transports(contribution.id).map(({ id }) => id), OWN];
  }

  function choiceOf({ id: channel, value: { label, connects = "another account" } }: Contribution<Channel>): LoginStep {
    const others = accounts.transports(channel).map(({ id, contribution }) => `${id}: ${contribution.value.connects}`);
    const help = `${others.join("; ")}; empty: ${connects}`;
    return {
      kind: "form",
      message: `${label} can be connected in several ways.`,
      fields: [{ key: WAY, label: "Way", help, optional: true }],
    };
  }

  const accountOf = (contribution: Contribution<Channel>, accountId: string) => {
    const settings = accounts.account(contribution, accountId)?.account.settings;
    return { accountId, ...(settings === undefined ? {} : { settings }) };
  };

  /** The channel as it serves the way. */
  function servedBy(contribution: Contribution<Channel>, accountId: string, way: string): Contribution<Channel> {
    const own = accounts.account(contribution, accountId);
    if (own?.account.transport?.id === way) return own.contribution;
    return way === OWN ? contribution : accounts.served(contribution, { id: way, package: "a plugin that has it" });
  }

  async function begin(contribution: Contribution<Channel>, accountId: string, way: string): Promise<Login> {
    const { id: channel } = contribution;
    const by = servedBy(contribution, accountId, way);
    const step = await called(by, [], (one) => one.login?.start({ ...accountOf(contribution, accountId), signal }));
    return remember({ channel, accountId, way, step });
  }

  function remember(begun: Pick<Login, "channel" | "accountId" | "way" | "step">): Login {
    const now = clock.now();
    const expiresAt = endOf(begun.step, now, now);
    const login = { id: randomUUID(), ...begun, startedAt: now, expiresAt, cancelled: new AbortController() };
    keep(login);
    return login;
  }

  async function next(id: string, answers: Readonly<Record<string, string>>) {
    const login = logins.get(id);
    if (!login || clock.now() - login.startedAt >= LOGIN_MS)
      return notFound("this login has ended; begin a new one: svc channels login <channel>");
    const { channel, accountId, step, way } = login;
    const given = step.kind === "form" ? checked(step, answers) : {};
    const named = accounts.channel(channel) ?? notFound(accounts.missing(channel));
    if (way === undefined) return { login: await choose(login, named, given[WAY] ?? OWN) };
    const contribution = servedBy(named, accountId, way);
    const values = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, resolved(value)]));
    const fields = step.kind === "form" ? step.fields : [];
    const secrets = fields.flatMap(({ key, secret = false }) => (secret ? (values[key] ?? []) : []));
    const { state } = step as { state?: unknown }; // `done` has none
    const stop = login.cancelled.signal;
    const ending = new AnySignal(signal, stop);
    const call = { ...accountOf(named, accountId), state, answers: values, signal: ending.signal };
    const following = await called(contribution, secrets, async (one) => {
      const answer = one.login?.next(call);
      return answer && untilAborted(answer, stop); // a channel may take its time to notice
    }).finally(() => ending.release());
    stop.throwIfAborted(); // nothing is written for somebody who cancelled
    if (following.kind !== "done") {
      const continued = { ...login, step: following, expiresAt: endOf(following, clock.now(), login.startedAt) };
      keep(continued);
      return { login: continued };
    }
    const path = await save(channel, accountId, asWritten(following.config ?? {}, given, values));
    logins.delete(id);
    // The configuration may be the same as before.
    const run = accounts.account(named, accountId)?.run;
    if (run && WAITING.has(run.state.phase)) accounts.restart(run);
    return { login: { ...login, step: following }, path };
  }

  /** Begins the chosen way, as the same login. */
  async function choose(login: Login, contribution: Contribution<Channel>, way: string): Promise<Login> {
    const ways = waysOf(contribution, login.accountId);
    if (!ways.includes(way))
      invalidRequest(`"${way}" is no way to connect; ways: ${ways.filter((one) => one !== OWN).join(", ")}, or empty`);
    const begun = await begin(contribution, login.accountId, way);
    logins.delete(begun.id);
    const continued = { ...begun, id: login.id, startedAt: login.startedAt };
    keep(continued);
    return continued;
  }

  /** Writes the account; the gateway then starts it. @returns its key */
  async function save(channel: string, accountId: string, values: Readonly<Record<string, unknown>>): Promise<string> {
    let path: readonly string[] = [];
    await config.edit({ actor: "channels", action: "channels.login" }, (parsed) => {
      const { channels = {} } = parsed as { channels?: Readonly<Record<string, { accounts?: unknown } | undefined>> }; // checked when it is written
      const isNamed = accountId !== DEFAULT_ACCOUNT || Object.hasOwn(Object(channels[channel]?.accounts), accountId);
      path = ["channels", channel, ...(isNamed ? ["accounts", accountId] : [])];
      const edits = Object.entries({ enabled: true, ...values });
      return edits.map(([key, value]): ConfigEdit => ({ path: [...path, key], value }));
    });
    return path.join(".");
  }

  /** @throws GatewayError without the entered secrets */
  async function called(
    contribution: Contribution<Channel>,
    secrets: readonly string[],
    work: (channel: Channel) => LoginStep | undefined | Promise<LoginStep | undefined>,
  ): Promise<LoginStep> {
    try {
      const step = await accounts.call(contribution, async (channel) => work(channel));
      const { id } = contribution;
      return (
        step ?? invalidRequest(`channel ${id} has no login; write its settings: svc config set channels.${id} ...`)
      );
    } catch (error) {
      const told = toldError(error, secrets);
      if (isGatewayError(error) && error.code !== "INTERNAL") throw new GatewayError(error.code, told);
      return unavailable(`the login at channel ${contribution.id} failed: ${told}`);
    }
  }

  /** The login that shows a QR code: at once, or else after a form in which every value is optional. */
  async function qrLogin(accountId: string | undefined) {
    const forms: Login[] = [];
    const asked = accountIdOf(accountId);
    for (const contribution of accounts.channels()) {
      const account = asked ?? defaultAccountOf(contribution.value);
      for (const way of waysOf(contribution, account)) {
        if (!servedBy(contribution, account, way).value.login) continue;
        const login = await begin(contribution, account, way);
        const { step } = login;
        if (step.kind === "show" && step.qr !== undefined) return { login, qr: step.qr };
        if (step.kind === "form" && step.fields.every(({ optional }) => optional === true)) forms.push(login);
        else logins.delete(login.id);
      }
    }
    for (const login of forms) {
      // Not with `next`: nothing may be written for a channel that needs no code. Errors: e.g. one of several values is needed.
      const { state } = login.step as { state?: unknown };
      const channel = accounts.channel(login.channel);
      if (!channel) continue;
      const call = { ...accountOf(channel, login.accountId), state, answers: {}, signal };
      const by = servedBy(channel, login.accountId, login.way ?? OWN);
      const step = await called(by, [], (one) => one.login?.next(call)).catch(() => undefined);
      if (step?.kind === "show" && step.qr !== undefined) {
        const shown = { ...login, step, expiresAt: endOf(step, clock.now(), login.startedAt) };
        keep(shown);
        return { login: shown, qr: step.qr };
      }
      logins.delete(login.id);
    }
    return invalidRequest("no loaded channel logs in with a QR code; see: svc channels list");
  }

  const steps: LoginSteps = {
    start: async (channel, accountId) => viewOf(await start(channel, accountId)),
    async next(loginId, answers) {
      const { login, path } = await next(loginId, answers);
      return { ...viewOf(login), ...(path === undefined ? {} : { path }) };
    },
  };
  const byMethods: Handlers<typeof channelLogin> = {
    start: ({ params }) => steps.start(params.channel, params.accountId),
    next: ({ params }) => steps.next(params.loginId, params.answers ?? {}),
    cancel({ params: { loginId } }) {
      const login = logins.get(loginId);
      login?.cancelled.abort(new GatewayError("UNAVAILABLE", "the login was cancelled; nothing was written"));
      return { cancelled: logins.delete(loginId) };
    },
  };
  const byWeb: Handlers<typeof webLogin> = {
    async start({ params }) {
      const { login, qr } = await qrLogin(params.accountId);
      const { renderSVG } = await qrCode();
      const image = Buffer.from(renderSVG(qr)).toString("base64");
      return { qrDataUrl: `data:image/svg+xml;base64,${image}`, message: login.step.message };
    },
    async wait({ params }) {
      const waits = ({ step, accountId }: Login) =>
        step.kind === "show" && step.qr !== undefined && accountId === (params.accountId ?? accountId);
      const login =
        [...logins.values()].findLast(waits) ?? invalidRequest("no login waits for a scan: web.login.start");
      const { login: after } = await next(login.id, {});
      return { connected: after.step.kind === "done", message: after.step.message };
    },
  };
  return { steps, byMethods, byWeb };
}

/** @throws GatewayError `INVALID_REQUEST` */
function accountIdOf(asked = ""): string | undefined {
  const id = asked.trim() || undefined;
  if (id !== undefined && !new RegExp(ACCOUNT_ID).test(id))
    invalidRequest(`"${id}" is not an account id: use lower case letters, digits, - and _`);
  return id;
}

/** @throws GatewayError `INVALID_REQUEST` naming a missing or unknown value */
function checked(
  { fields }: Extract<LoginStep, { kind: "form" }>,
  answers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const known = fields.map(({ key }) => key);
  const unknown = Object.keys(answers).find((key) => !known.includes(key));
  if (unknown !== undefined) invalidRequest(`unknown value "${unknown}"; values: ${known.join(", ")}`);
  const missing = fields.find(({ key, optional }) => optional !== true && (answers[key] ?? "").trim() === "");
  if (missing) invalidRequest(`${missing.key} is missing: ${missing.label}${missing.help ? `. ${missing.help}` : ""}`);
  const given = Object.entries(answers).map(([key, value]) => [key, value.trim()] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

/** @throws GatewayError `INVALID_REQUEST` the gateway has no such environment variable */
function resolved(value: string): string {
  const name = VARIABLE.exec(value)?.[1];
  if (name === undefined) return value;
  return (
    process.env[name] ||
    invalidRequest(`${name} is not set in the environment of the gateway; set it and restart the gateway`)
  );
}

/** The values to write: a value from an environment variable is written as a reference to it. */
function asWritten(
  config: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(config).map(([key, value]) => [key, value === values[key] ? given[key] : value]);
  return Object.fromEntries(entries) as Readonly<Record<string, unknown>>; // `fromEntries` of mixed pairs is untyped
}

/** When the shown code or the login ends, epoch ms. */
function endOf(step: LoginStep, now: number, startedAt: number): number {
  const end = startedAt + LOGIN_MS;
  return step.kind === "show" && step.expiresInMs !== undefined ? Math.min(end, now + step.expiresInMs) : end;
}

/** A login for the person who logs in: without its state. */
function viewOf({ id, channel, accountId, step, expiresAt }: Login) {
  const { kind, message } = step;
  const more: Partial<LoginStepView> =
    step.kind === "form"
      ? { fields: step.fields.map((field) => ({ ...field })) }
      : step.kind === "show"
        ? { ...(step.url === undefined ? {} : { url: step.url }), ...(step.qr === undefined ? {} : { qr: step.qr }) }
        : {};
  const end = kind === "done" ? {} : { expiresAtMs: Math.round(expiresAt) };
  return { loginId: id, channel, accountId, step: { kind, message, ...more }, ...end };
}
