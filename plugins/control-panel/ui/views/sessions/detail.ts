/** One session beside the list: its last messages, settings, usage, and where it came from. */
import { models } from "@svc/sdk/models";
import { sessions } from "@svc/sdk/sessions";
import { html, nothing, type TemplateResult } from "lit";
import { Eraser, MessageSquare, RotateCcw, Trash2 } from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { locale, named, t } from "../../core/text.ts";
import { createChosen } from "../../parts/chosen.ts";
import { detail } from "../../parts/detail.ts";
import { askFor } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { titleOf } from "../../parts/session.ts";
import { badge, empty, facts, show } from "../../parts/show.ts";
import { tabs } from "../../parts/tabs.ts";
import { toast } from "../../parts/toast.ts";
import { absolute } from "../../parts/time.ts";
import type { Row } from "./list.ts";
import { createSettings } from "./settings.ts";
import { createSessionUsage } from "./usage.ts";

type TabId = "messages" | "settings" | "usage" | "origin";

const PREVIEW = { limit: 8, maxChars: 600 } as const;

export interface DetailActions {
  /** Loads the row again. */
  changed(key: string): Promise<void>;
  reset(row: Row): unknown;
  remove(row: Row): unknown;
  close(): void;
}

export function createDetail(context: ViewContext, actions: DetailActions): { draw(row: Row): TemplateResult } {
  let tab: TabId = "messages";
  const previewOf = createChosen(
    context,
    async (key) => (await context.call(sessions.preview, { keys: [key], ...PREVIEW })).previews[0],
  );
  const choices = context.resource(async () =>
    context.serves(models.list) ? (await context.call(models.list, {})).models : [],
  );
  const settings = createSettings(context, () => choices.value ?? [], actions.changed);
  const usage = createSessionUsage(context);

  const compact = (row: Row) => async () => {
    let told = "";
    const done = await askFor({
      title: t.sessions.compactOf(titleOf(row)),
      text: html`<p>${t.sessions.compactText}</p>`,
      fields: [{ name: "keep", label: t.sessions.keep, kind: "number", value: "400", isRequired: true }],
      action: t.sessions.compact,
      work: async ({ keep = "" }) => {
        const result = await context.call(sessions.compact, { key: row.key, maxLines: Number(keep) });
        told = result.compacted ? t.sessions.compacted(result.kept ?? 0) : t.sessions.notCompacted;
      },
    });
    if (!done) return;
    toast(told, "good");
    await actions.changed(row.key);
    await previewOf(row.key, row.updatedAt).reload();
  };

  function messages(row: Row): TemplateResult {
    return show(previewOf(row.key, row.updatedAt), (preview) => {
      if (preview?.status === "error") return empty(t.sessions.unreadable, t.sessions.unreadableText);
      const { items = [], damaged = 0 } = preview ?? {};
      if (items.length === 0) return empty(t.sessions.noMessages);
      return html`<div>
        ${damaged > 0 ? html`<p class="notice warning">${t.sessions.damaged(damaged)}</p>` : nothing}
        ${items.map(
          ({ role, text }) =>
            html`<div class="preview">
              <div>${badge(named(t.sessions.roles, role), role === "user" ? "accent" : "neutral")}</div>
              <p>${text}</p>
            </div>`,
        )}
      </div>`;
    });
  }

  return {
    draw(row) {
      const mayChange = context.may("operator.admin");
      const all: (readonly [TabId, string])[] = [
        ["messages", t.sessions.tabMessages],
        ...(mayChange ? [["settings", t.sessions.tabSettings] as const] : []),
        ...(context.serves("usage.cost") ? [["usage", t.sessions.tabUsage] as const] : []),
        ["origin", t.sessions.tabOrigin],
      ];
      const bodies: Readonly<Record<TabId, () => TemplateResult>> = {
        messages: () => messages(row),
        settings: () => settings.draw(row),
        usage: () => usage.draw(row),
        origin: () => origin(row),
      };
      const open = all.some(([id]) => id === tab) ? tab : "messages";
      const action = (symbol: typeof Trash2, text: string, run: () => unknown, name = "") =>
        html`<button class=${name} @click=${run}>${icon(symbol)}${text}</button>`;
      return detail({
        title: titleOf(row),
        close: actions.close,
        actions: html`${action(
          MessageSquare,
          t.views.chat,
          () => context.go("chat", { session: row.key }),
          "primary",
        )}${
          mayChange
            ? html`${action(Eraser, t.sessions.compact, compact(row))}
              ${action(RotateCcw, t.sessions.reset, () => actions.reset(row))}
              ${action(Trash2, t.common.delete, () => actions.remove(row), "danger")}`
            : nothing
        }`,
        body: tabs({
          label: titleOf(row),
          tabs: all,
          selected: open,
          select: (chosen) => {
            tab = chosen;
            context.redraw();
          },
          content: bodies[open],
        }),
      });
    },
  };
}

/** Who writes to it, and where replies go. */
function origin(row: Row): TemplateResult {
  const { key, sessionId, kind, channel, subject, groupChannel, space, updatedAt, lastChannel, lastTo, lastAccountId } =
    row;
  const { facts: names } = t.sessions;
  return html`${facts([
    [names.key, html`<span class="mono">${key}</span>`],
    [names.id, html`<span class="mono">${sessionId ?? ""}</span>`],
    [names.kind, t.sessions.kinds[kind]],
    [names.channel, channel],
    [names.subject, subject],
    [names.groupChannel, groupChannel],
    [names.space, space],
    [names.used, updatedAt === null ? undefined : absolute(updatedAt)],
    [names.size, row.totalTokens?.toLocaleString(locale)],
    [names.context, row.contextTokens?.toLocaleString(locale)],
  ])}
  ${group(t.sessions.cameFrom, row.origin)} ${group(t.sessions.repliesTo, row.deliveryContext)}
  ${group(t.sessions.lastRoute, { channel: lastChannel, to: lastTo, accountId: lastAccountId })}`;
}

/** The plain values of a record, under the names that the gateway gives them. */
function group(title: string, record: object | undefined): TemplateResult | typeof nothing {
  const given = Object.entries(record ?? {}).filter(
    (entry): entry is [string, string | number] => ["string", "number"].includes(typeof entry[1]) && entry[1] !== "",
  );
  if (given.length === 0) return nothing;
  return html`<h3>${title}</h3>
    ${facts(given.map(([name, value]) => [named(t.sessions.routes, name), value] as const))}`;
}
