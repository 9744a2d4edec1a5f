/** People who wrote to a bot and wait for access, and people who have it. */
import type { ResultOf } from "@svc/sdk";
import { channelPairing } from "@svc/sdk/channels";
import { html, nothing, type TemplateResult } from "lit";
import { Check, X } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge } from "../../parts/show.ts";
import { attempt } from "../../parts/toast.ts";
import { ago } from "../../parts/time.ts";

export type People = ResultOf<typeof channelPairing.list>;
type Pending = People["pending"][number];
type Approved = People["approved"][number];
type Person = Pick<Pending, "channel" | "accountId" | "senderId" | "senderName">;

const nameOf = ({ senderName, senderId }: Person) => senderName ?? senderId;

export function drawPeople(
  context: ViewContext,
  { pending, approved }: People,
  labelOf: (channel: string) => string,
  done: () => void,
): TemplateResult | typeof nothing {
  if (pending.length + approved.length === 0) return nothing;

  const approve = (person: Pending) => async () => {
    const { channel, accountId, code } = person;
    const isDone = await attempt(
      () => context.call(channelPairing.approve, { channel, accountId, code }),
      t.channels.letIn(nameOf(person)),
    );
    if (isDone) done();
  };
  const remove = (person: Person, action: string, title: string, text: string) => async () => {
    const { channel, accountId, senderId } = person;
    const isDone = await confirm({
      title,
      text: html`<p>${text}</p>`,
      action,
      isDangerous: true,
      work: () => context.call(channelPairing.remove, { channel, accountId, senderId }),
    });
    if (isDone) done();
  };
  const who = (person: Person) =>
    html`<span class="who"
      ><strong class="break">${nameOf(person)}</strong>
      <small class="break">${labelOf(person.channel)} · ${person.accountId} · ${person.senderId}</small></span
    >`;
  const drawPending = (person: Pending) =>
    html`<li class="person" aria-label=${nameOf(person)}>
      ${who(person)} <code class="code-word" aria-label=${t.channels.pairingCode}>${person.code}</code>
      <span class="quiet">${ago(person.requestedAtMs)}</span>
      <span class="actions">
        <button class="primary" aria-label=${t.channels.approveOf(nameOf(person))} @click=${approve(person)}>
          ${icon(Check)}${t.channels.approve}
        </button>
        <button
          class="danger"
          aria-label=${t.channels.refuseOf(nameOf(person))}
          @click=${remove(person, t.channels.refuse, t.channels.refuseOf(nameOf(person)), t.channels.refuseText)}
        >
          ${icon(X)}${t.channels.refuse}
        </button>
      </span>
    </li>`;
  const drawApproved = (person: Approved) =>
    html`<li class="person" aria-label=${nameOf(person)}>
      ${who(person)} <span class="quiet">${ago(person.approvedAtMs)}</span>
      <span class="actions">
        <button
          aria-label=${t.channels.takeBackOf(nameOf(person))}
          @click=${remove(person, t.channels.takeBack, t.channels.takeBackOf(nameOf(person)), t.channels.takeBackText)}
        >
          ${t.channels.takeBack}
        </button>
      </span>
    </li>`;
  return html`<section class="card" aria-label=${t.channels.people}>
    <header>
      <h2>${t.channels.people}</h2>
      ${pending.length === 0 ? nothing : badge(t.channels.waitingPeople(pending.length), "accent")}
    </header>
    ${
      pending.length === 0
        ? nothing
        : html`<p class="quiet">${t.channels.pairingText}</p>
            <ul class="plain-list">
              ${pending.map(drawPending)}
            </ul>`
    }
    ${
      approved.length === 0
        ? nothing
        : html`<details ?open=${pending.length === 0 && approved.length <= 5}>
            <summary>${t.channels.approvedPeople(approved.length)}</summary>
            <ul class="plain-list">
              ${approved.map(drawApproved)}
            </ul>
          </details>`
    }
  </section>`;
}
