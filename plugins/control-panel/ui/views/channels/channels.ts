/** Channels: the accounts on chat networks, whether they work, and who may write to them. */
import type { ResultOf, Static } from "@svc/sdk";
import { type ChannelAccountSnapshot, channelLogin, channelPairing, channels } from "@svc/sdk/channels";
import { config } from "@svc/sdk/config";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { LogIn, LogOut, Plus, Radio, Settings } from "lucide";
import type { OpenView } from "../../core/app.ts";
import { hrefOf } from "../../core/address.ts";
import { t } from "../../core/text.ts";
import { confirm, openDialog } from "../../parts/dialog.ts";
import { textOf } from "../../parts/form.ts";
import { icon } from "../../parts/icon.ts";
import { badge, empty, facts, failed, show, type Tone } from "../../parts/show.ts";
import { ago, relative } from "../../parts/time.ts";
import { readable } from "../../parts/value.ts";
import { configure } from "./configure.ts";
import { logIn } from "./login.ts";
import { drawPeople } from "./pairing.ts";
import "../../parts/form.css";
import "./channels.css";

type Status = ResultOf<typeof channels.status>;
type Account = Static<typeof ChannelAccountSnapshot>;
type Meta = Status["channelMeta"][number];

/** Result of the last probe of an account, or why it failed. */
type Probe = { readonly isRunning: true } | { readonly result: unknown } | { readonly error: unknown };

export default ((context) => {
  const status = context.resource(() => context.call(channels.status, {}), { everyMs: 5_000 });
  const people =
    context.may("operator.pairing") && context.serves(channelPairing.list)
      ? context.resource(() => context.call(channelPairing.list, {}), { everyMs: 10_000 })
      : undefined;
  const isAdmin = context.may("operator.admin");
  const mayConfigure = isAdmin && context.serves(config.patch) && context.serves(config.schema);
  const mayLogIn = isAdmin && context.serves(channelLogin.start);
  const probes = new Map<string, Probe>();

  const changed = () => {
    void status.reload();
    void people?.reload();
  };
  const labelOf = (channel: string) => status.value?.channelLabels[channel] ?? channel;
  const titleOf = (channel: string, { accountId, name }: Account) =>
    `${labelOf(channel)}${name !== undefined ? ` · ${name}` : accountId === "default" ? "" : ` · ${accountId}`}`;

  const probe = (channel: string, accountId: string) => async () => {
    const key = `${channel} ${accountId}`;
    probes.set(key, { isRunning: true });
    context.redraw();
    try {
      const { channelAccounts } = await context.call(channels.status, { probe: true, channel, accountId });
      probes.set(key, { result: channelAccounts[channel]?.[0]?.probe });
    } catch (error) {
      probes.set(key, { error });
    }
    await status.reload();
  };
  const login = (meta: Meta, accountId?: string) => async () => {
    const target = { channel: meta.id, label: meta.label, ...(accountId === undefined ? {} : { accountId }) };
    if (await logIn(context, target)) changed();
  };
  const logout = (channel: string, account: Account) => async () => {
    const { accountId } = account;
    const isDone = await confirm({
      title: t.channels.logOutOf(titleOf(channel, account)),
      text: html`<p>${t.channels.logOutText}</p>`,
      action: t.channels.logOut,
      isDangerous: true,
      work: () => context.call(channels.logout, { channel, accountId }),
    });
    if (isDone) changed();
  };
  const settings = (channel: string, account: Account) => async () => {
    if (await configure(context, channel, account.accountId, titleOf(channel, account))) changed();
  };

  function drawAccount(meta: Meta, account: Account): TemplateResult {
    const { id: channel } = meta;
    const { accountId, allowFrom = [], dmPolicy, lastDisconnect, linked } = account;
    const title = titleOf(channel, account);
    const [state, tone] = stateOf(account);
    const probed = probes.get(`${channel} ${accountId}`);
    const texts: Readonly<Record<string, string>> = t.channels.dmPolicy;
    const missing: Readonly<Record<string, string>> = t.channels.lacks;
    return html`<article class="card" aria-label=${title}>
      <header>
        <h3 class="break">${title}</h3>
        ${badge(state, tone)}
        ${account.pendingPairings ? badge(t.channels.waitingPeople(account.pendingPairings), "accent") : nothing}
      </header>
      ${troubleOf(meta, account)}
      ${facts([
        [t.channels.account, accountId],
        [t.channels.since, account.connected === true ? ago(account.lastConnectedAt) : undefined],
        [
          t.channels.lastConnected,
          account.connected === true ? undefined : account.lastConnectedAt && ago(account.lastConnectedAt),
        ],
        [t.channels.lastIn, ago(account.lastInboundAt)],
        [t.channels.lastOut, ago(account.lastOutboundAt)],
        [t.channels.proof, account.lastProofAt && ago(account.lastProofAt)],
        [t.channels.waitingMessages, (account.waitingInbound ?? 0) + (account.waitingOutbound ?? 0) || undefined],
        [t.channels.failedMessages, account.failedOutbound || undefined],
        [t.channels.lastDisconnect, lastDisconnect && account.connected !== true ? ago(lastDisconnect.at) : undefined],
        [t.channels.dmPolicy.label, dmPolicy && (texts[dmPolicy] ?? dmPolicy)],
        [t.channels.allowFrom, allowFrom.length === 0 ? undefined : allowFrom.join(", ")],
        [t.channels.lacksLabel, meta.lacks?.map((word) => missing[word] ?? word).join(", ")],
      ])}
      ${probed ? drawProbe(probed) : nothing}
      <div class="actions">
        ${
          meta.probe !== false && account.configured !== false && account.enabled !== false
            ? html`<button
                aria-label=${t.channels.probeOf(title)}
                ?disabled=${probed !== undefined && "isRunning" in probed}
                @click=${probe(channel, accountId)}
              >
                ${icon(Radio)}${t.channels.probe}
              </button>`
            : nothing
        }
        ${
          mayConfigure
            ? html`<button aria-label=${t.channels.settingsOf(title)} @click=${settings(channel, account)}>
                ${icon(Settings)}${t.channels.settings}
              </button>`
            : nothing
        }
        ${
          mayLogIn && meta.login !== false
            ? html`<button
                class=${linked === false ? "primary" : ""}
                aria-label=${linked === false ? t.channels.logInOf(title) : t.channels.logInAgainOf(title)}
                @click=${login(meta, accountId)}
              >
                ${icon(LogIn)}${linked === false ? t.channels.logIn : t.channels.logInAgain}
              </button>`
            : nothing
        }
        ${
          isAdmin && meta.logout === true && linked !== false
            ? html`<button class="danger" aria-label=${t.channels.logOutOf(title)} @click=${logout(channel, account)}>
                ${icon(LogOut)}${t.channels.logOut}
              </button>`
            : nothing
        }
      </div>
    </article>`;
  }

  function drawProbe(probed: Probe): TemplateResult {
    if ("isRunning" in probed)
      return html`<p class="line quiet"><span class="spinner"></span>${t.channels.probing}</p>`;
    if ("error" in probed) return failed(probed.error);
    return html`<div class="notice good">
      <div>${t.channels.probeGood} ${probed.result === undefined ? nothing : readable(probed.result)}</div>
    </div>`;
  }

  async function add(metas: readonly Meta[]): Promise<void> {
    const isSetUp = ({ id }: Meta) =>
      status.value?.channelAccounts[id]?.some(({ configured }) => configured !== false) === true;
    const chosen = await openDialog<{ readonly meta: Meta; readonly accountId?: string }>({
      title: t.channels.add,
      body: ({ close }) => {
        const submit = (event: SubmitEvent) => {
          event.preventDefault();
          const data = new FormData(event.target as HTMLFormElement);
          const meta = metas.find(({ id }) => id === data.get("channel"));
          const accountId = textOf(data, "account").trim();
          if (meta) close({ meta, ...(accountId === "" ? {} : { accountId }) });
        };
        return html`<form @submit=${submit}>
          <div class="content">
            <fieldset>
              <legend>${t.channels.which}</legend>
              ${metas.map(
                (meta, index) =>
                  html`<label class="check">
                    <input type="radio" name="channel" value=${meta.id} ?checked=${index === 0} required />
                    <span class="break">${meta.label}</span>${isSetUp(meta) ? badge(t.channels.another) : nothing}
                  </label>`,
              )}
            </fieldset>
            <label class="field"
              ><span>${t.channels.optional(t.channels.account)}</span>
              <input
                name="account"
                pattern="[a-z0-9][a-z0-9_\\-]*"
                maxlength="64"
                autocomplete="off"
                placeholder="work"
              />
              <small>${t.channels.accountHint}</small>
            </label>
            <p class="quiet">${t.channels.moreText} <a href=${hrefOf("plugins")}>${t.views.plugins}</a></p>
          </div>
          <footer>
            <button type="button" @click=${() => close()}>${t.common.cancel}</button>
            <button class="primary">${t.channels.continue}</button>
          </footer>
        </form>`;
      },
    });
    if (chosen) await login(chosen.meta, chosen.accountId)();
  }

  return {
    render: () => {
      const offered = status.value?.channelMeta.filter(({ login: has }) => has !== false) ?? [];
      return html`<div class="view">
        <header>
          <h1>${t.channels.title}</h1>
          <span class="fill"></span>
          ${
            mayLogIn && offered.length > 0
              ? html`<button class="primary" @click=${() => add(offered)}>${icon(Plus)}${t.channels.add}</button>`
              : nothing
          }
        </header>
        ${people?.value ? drawPeople(context, people.value, labelOf, changed) : nothing}
        ${people?.error === undefined ? nothing : failed(people.error, () => void people.reload())}
        ${show(status, ({ channelMeta, channelAccounts }) => {
          if (channelMeta.length === 0) return empty(t.channels.none, t.channels.noneText);
          const accounts = channelMeta.flatMap((meta) =>
            (channelAccounts[meta.id] ?? []).map((account) => ({ meta, account })),
          );
          const used = accounts.filter(({ account }) => account.configured !== false);
          const unused = channelMeta.filter(({ id }) => !used.some(({ meta }) => meta.id === id));
          return html`<h2 class="unseen">${t.channels.accounts}</h2>
            ${used.length === 0 ? empty(t.channels.noAccount, t.channels.noAccountText) : nothing}
            <div class="grid accounts">
              ${repeat(
                used,
                ({ meta, account }) => `${meta.id} ${account.accountId}`,
                ({ meta, account }) => drawAccount(meta, account),
              )}
            </div>
            ${
              unused.length === 0
                ? nothing
                : html`<p class="quiet">${t.channels.unused} ${unused.map(({ label }) => label).join(", ")}</p>`
            }`;
        })}
      </div>`;
    },
  };
}) satisfies OpenView;

function stateOf({ enabled, configured, connected, linked, running, state }: Account): readonly [string, Tone] {
  const { states } = t.channels;
  if (enabled === false) return [states.disabled, "neutral"];
  if (configured === false) return [states.notSetUp, "neutral"];
  if (connected === true) return [states.connected, "good"];
  if (linked === false) return [states.needsLogin, "warning"];
  return running === true ? [state ?? states.connecting, "warning"] : [states.stopped, "neutral"];
}

/** What is wrong with an account, each with the next step. */
function troubleOf({ id }: Meta, account: Account): TemplateResult[] {
  const { lastError, linked, nextAttemptAt, failedOutbound = 0, lastFailedOutbound, warnings = [] } = account;
  const { lastRefusedInbound: refused, refusedInbound = 0 } = account;
  const { channels: texts } = t;
  const trouble: (readonly [tone: Tone, message: string, next: string])[] = [
    ...(linked === false ? [["warning", lastError ?? texts.needsLogin, texts.needsLoginNext] as const] : []),
    ...(typeof lastError === "string" && linked !== false && account.connected !== true
      ? [
          [
            "bad",
            lastError,
            typeof nextAttemptAt === "number" && nextAttemptAt > Date.now()
              ? texts.retriesNext(relative(nextAttemptAt))
              : texts.errorNext,
          ] as const,
        ]
      : []),
    ...(failedOutbound > 0 && lastFailedOutbound !== undefined
      ? [["bad", texts.sendFailed(lastFailedOutbound), texts.sendFailedNext] as const]
      : []),
    ...(refused ? [["warning", texts.refused(refusedInbound, refused.who, refused.why), refused.next] as const] : []),
    ...warnings.map(({ message, next }) => ["warning", message, next] as const),
  ];
  return trouble.map(
    ([tone, message, next]) =>
      html`<div class="notice ${tone}" data-channel=${id}>
        <div>
          <p>${message}</p>
          <p class="next">${t.common.next}: ${next}</p>
        </div>
      </div>`,
  );
}
