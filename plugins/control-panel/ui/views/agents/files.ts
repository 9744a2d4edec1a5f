/** Tab: the files that make up the prompt of the agent, and their versions. */
import type { ResultOf } from "@svc/sdk";
import { agents } from "@svc/sdk/agents";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import { t } from "../../core/text.ts";
import { createChosen } from "../../parts/chosen.ts";
import { confirm, openDialog } from "../../parts/dialog.ts";
import { diffOf } from "../../parts/diff.ts";
import { createDocument, type Document, hasDraft, NO_FILE } from "../../parts/document.ts";
import { badge, show } from "../../parts/show.ts";
import { ago, bytes } from "../../parts/time.ts";
import { attempt } from "../../parts/toast.ts";
import type { AgentTab } from "./entries.ts";

type Version = ResultOf<typeof agents.filesLog>["versions"][number];

const SHOWN_VERSIONS = 50;

export function filesTab({ context, id, facts, reload }: AgentTab): () => TemplateResult {
  const mayChange = context.may("operator.admin");
  const documents = new Map<string, Document>();
  let selected = facts().files[0]?.name ?? "AGENTS.md";
  const versionsOf = createChosen(context, async (name) => {
    const { versions } = await context.call(agents.filesLog, { agentId: id, name, limit: SHOWN_VERSIONS });
    return versions;
  });
  /** Changes of files by this view. */
  let changes = 0;
  const changed = () => {
    changes++;
    return reload();
  };

  const keyOf = (name: string) => `agents/${id}/${name}`;
  const documentOf = (name: string): Document => {
    const known = documents.get(name);
    if (known) return known;
    const made = createDocument(context, {
      key: keyOf(name),
      label: name,
      load: async () => {
        const { file } = await context.call(agents.filesGet, { agentId: id, name });
        return { text: file.content ?? "", hash: file.hash ?? NO_FILE };
      },
      ...(mayChange && {
        save: async (content: string, baseHash: string) => {
          const { file } = await context.call(agents.filesSet, { agentId: id, name, content, baseHash });
          return { hash: file.hash ?? NO_FILE };
        },
      }),
      saved: () => void changed(),
    });
    documents.set(name, made);
    return made;
  };

  const choose = (name: string) => {
    selected = name;
    context.redraw();
  };

  const compare = ({ name, version }: Version) =>
    attempt(async () => {
      const { from, to, diff } = await context.call(agents.filesDiff, { agentId: id, name, to: version });
      void openDialog({
        title: t.agents.compareTitle(name, from, to),
        isWide: true,
        body: ({ close }) =>
          html`<div class="content">${diff === "" ? t.agents.noDifference : diffOf(diff)}</div>
            <footer><button @click=${() => close()}>${t.common.close}</button></footer>`,
      });
    });

  const restore = async ({ name, version }: Version) => {
    const isDone = await confirm({
      title: t.agents.restoreOf(name, version),
      text: t.agents.restoreText,
      action: t.agents.restore,
      work: () => context.call(agents.filesRestore, { agentId: id, name, version }),
    });
    if (isDone) await Promise.all([documentOf(name).refresh(), changed()]);
  };

  const author = ({ how, sessionKey, principal }: Version) => {
    const known: Readonly<Record<string, string>> = { outside: t.agents.outside, template: t.agents.template };
    return [known[how] ?? how, sessionKey ?? principal?.id].filter(Boolean).join(" · ");
  };

  const table = (all: readonly Version[]) =>
    all.length === 0
      ? html`<p class="quiet">${t.agents.versionsNone}</p>`
      : html`<ul class="tools">
          ${all.map(
            (one, index) =>
              html`<li class="tool">
                <div class="what">
                  <span
                    ><strong>${t.agents.version(one.version)}</strong> · ${ago(one.at)} ·
                    ${one.size === undefined ? t.agents.gone : bytes(one.size)}</span
                  >
                  <small class="break">${author(one)}</small>
                </div>
                <span class="actions">
                  <button
                    class="plain"
                    aria-label=${t.agents.compareOf(one.name, one.version)}
                    @click=${() => compare(one)}
                  >
                    ${t.agents.compare}
                  </button>
                  ${
                    mayChange && index > 0 && one.isKept
                      ? html`<button
                          class="plain"
                          aria-label=${t.agents.restoreOf(one.name, one.version)}
                          @click=${() => restore(one)}
                        >
                          ${t.agents.restore}
                        </button>`
                      : nothing
                  }
                </span>
              </li>`,
          )}
        </ul>`;

  return () => {
    const { files } = facts();
    const isMissing = files.find(({ name }) => name === selected)?.missing ?? true;
    return html`<div class="split files">
      <div class="chooser" role="group" aria-label=${t.agents.tabs.files}>
        ${files.map(
          ({ name, missing, size }) =>
            html`<button
              class=${name === selected ? "accent" : ""}
              aria-pressed=${name === selected}
              @click=${() => choose(name)}
            >
              <span class="mono">${name}</span>
              ${
                hasDraft(keyOf(name))
                  ? badge(t.document.unsaved, "warning")
                  : html`<small>${missing ? t.agents.missing : bytes(size ?? 0)}</small>`
              }
            </button>`,
        )}
      </div>
      <div class="column">
        ${isMissing ? html`<p class="quiet">${t.agents.missingText}</p>` : nothing}
        ${keyed(selected, documentOf(selected).render())}
        <details class="card" open>
          <summary>${t.agents.versions}</summary>
          ${show(versionsOf(selected, changes), table)}
        </details>
      </div>
    </div>`;
  };
}
