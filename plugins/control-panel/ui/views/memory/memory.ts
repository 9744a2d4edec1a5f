/** Memory: whether search works, a search, the notes of an agent, and their index. */
import { memory } from "@svc/sdk/memory";
import type { ResultOf } from "@svc/sdk";
import { html, nothing, type TemplateResult } from "lit";
import { RotateCw } from "lucide";
import type { OpenView } from "../../core/app.ts";
import { locale, t } from "../../core/text.ts";
import { createAgentChoice } from "../../parts/agent-choice.ts";
import { confirm } from "../../parts/dialog.ts";
import { textOf } from "../../parts/form.ts";
import { icon } from "../../parts/icon.ts";
import { badge, empty, facts, failed, show } from "../../parts/show.ts";
import { ago, bytes } from "../../parts/time.ts";
import { attempt, toast } from "../../parts/toast.ts";
import { createNotes } from "./notes.ts";
import "./memory.css";

type Status = ResultOf<typeof memory.doctor>;
type Found = ResultOf<typeof memory.search>;

/** An index of thousands of notes with a slow embeddings server takes long. */
const INDEX_MS = 3_600_000;
const WATCH_MS = 1_000;
const RESULTS = 20;

export default ((context) => {
  const mayChange = context.may("operator.admin");
  const chosen = () => context.place.params.get("agent") ?? undefined;
  const agentChoice = createAgentChoice(context, () => t.memory.agent);
  /** Without a chosen agent: the default one, as `doctor.memory.status` sees it. */
  const status = context.resource(
    async (): Promise<Status | undefined> => {
      const agentId = chosen();
      if (agentId === undefined) return context.call(memory.doctor, {});
      return (await context.call(memory.status, { agentId })).agents[0];
    },
    { everyMs: 30_000 },
  );
  const notes = createNotes(context, chosen);
  let found: Found | undefined;
  let error: unknown;
  let isSearching = false;
  let isIndexing = false;
  context.every(WATCH_MS, () => isIndexing && void status.reload());

  const search = async (event: SubmitEvent) => {
    event.preventDefault();
    const query = textOf(new FormData(event.target as HTMLFormElement), "query");
    if (query.trim() === "") return;
    const agentId = chosen();
    isSearching = true;
    error = undefined;
    context.redraw();
    try {
      const params = { query, maxResults: RESULTS, ...(agentId === undefined ? {} : { agentId }) };
      const answer = await context.call(memory.search, params);
      if (chosen() === agentId) found = answer;
    } catch (failure) {
      error = failure;
    }
    isSearching = false;
    context.redraw();
    void status.reload(); // the first search creates the index
  };

  const index = (force: boolean) => async () => {
    const agentId = status.value?.agentId;
    if (agentId === undefined || isIndexing) return;
    isIndexing = true;
    context.redraw();
    await attempt(async () => {
      const { agents: done } = await context.call(memory.index, { agentId, force }, { timeoutMs: INDEX_MS });
      for (const { files, changed, error: why, leftOut } of done) {
        toast(t.memory.indexed(files, changed), "good");
        if (why !== undefined) toast(why, "warning");
        if (leftOut.length > 0) toast(t.memory.leftOut(leftOut.length), "warning");
      }
    });
    isIndexing = false;
    await Promise.all([status.reload(), notes.reload()]);
  };
  const rebuild = async () => {
    const isSure = await confirm({
      title: t.memory.rebuildTitle,
      text: t.memory.rebuildText,
      action: t.memory.rebuild,
    });
    if (isSure) await index(true)();
  };

  const drawStatus = (value: Status | undefined): TemplateResult | typeof nothing => {
    if (!value) return nothing;
    const { embedding, provider, model, files, chunks, vectors, pending, indexBytes, lastIndexedAt } = value;
    const isConfigured = provider !== undefined;
    const meaning = embedding.ok
      ? badge(t.memory.works, "good")
      : html`${isConfigured ? badge(t.memory.fails, "bad") : badge(t.memory.off)}
          <span class="break">${embedding.error ?? ""}</span>`;
    const [made, total] = isConfigured ? [vectors, chunks] : [];
    const whole = (count: number | undefined) => count?.toLocaleString(locale);
    return html`<section class="card">
      <header>
        <h2>${t.memory.status}</h2>
        <span class="fill"></span>
        ${
          mayChange
            ? html`<button ?disabled=${isIndexing} @click=${index(false)}>${icon(RotateCw)}${t.memory.update}</button>
                <button ?disabled=${isIndexing} @click=${rebuild}>${t.memory.rebuild}</button>`
            : nothing
        }
      </header>
      ${
        isIndexing
          ? html`<p class="waiting-line" role="status">
                <span class="spinner"></span>${
                  made === undefined || total === undefined ? t.memory.indexing : t.memory.progress(made, total)
                }
              </p>
              ${
                made === undefined || total === undefined
                  ? nothing
                  : html`<progress aria-label=${t.memory.indexing} max=${Math.max(total, 1)} .value=${made}></progress>`
              }`
          : nothing
      }
      ${facts([
        [t.memory.meaning, html`<span class="line">${meaning}</span>`],
        [t.memory.server, isConfigured ? `${provider}${model === undefined ? "" : `, ${model}`}` : undefined],
        [t.memory.files, whole(files)],
        [t.memory.passages, whole(chunks)],
        [t.memory.vectors, isConfigured ? whole(vectors) : undefined],
        [t.memory.pending, pending === undefined || pending === 0 ? undefined : whole(pending)],
        [t.memory.size, indexBytes === undefined ? undefined : bytes(indexBytes)],
        [t.memory.checked, lastIndexedAt === undefined ? undefined : ago(lastIndexedAt)],
      ])}
      ${files === undefined ? html`<p class="quiet">${t.memory.never}</p>` : nothing}
    </section>`;
  };

  const drawFound = ({ results, files, mode, meaning, leftOut }: Found): TemplateResult =>
    html`<p class="quiet" role="status">${t.memory.found(results.length, files, t.memory.modes[mode] ?? mode)}</p>
      ${meaning === undefined ? nothing : html`<div class="notice warning"><div>${meaning}</div></div>`}
      ${results.length === 0 ? empty(t.memory.nothing) : nothing}
      ${results.map(
        ({ path, startLine, endLine, score, snippet }) =>
          html`<article class="place">
            <div class="line">
              <button class="plain mono break" aria-label=${t.memory.openNote(path)} @click=${() => notes.open(path)}>
                ${path}
              </button>
              <small>${t.memory.lines(startLine, endLine)}</small>
              <span class="fill"></span>
              ${badge(t.memory.score(score.toLocaleString(locale, { maximumFractionDigits: 2 })))}
            </div>
            <p class="snippet">${snippet}</p>
          </article>`,
      )}
      ${
        leftOut.length === 0
          ? nothing
          : html`<details>
              <summary>${t.memory.leftOut(leftOut.length)}</summary>
              ${facts(leftOut.map(({ path, reason }) => [path, reason] as const))}
            </details>`
      }`;

  return {
    navigated() {
      found = undefined;
      error = undefined;
      void status.reload();
      notes.agentChanged();
    },
    render: () =>
      html`<div class="view">
        <header class="toolbar">
          <h1>${t.memory.title}</h1>
          ${agentChoice()}
        </header>
        <section class="card">
          <header><h2>${t.memory.search}</h2></header>
          <form class="toolbar" role="search" @submit=${search}>
            <input type="search" name="query" maxlength="1000" aria-label=${t.memory.search} />
            <button class="primary" ?disabled=${isSearching}>${t.memory.find}</button>
          </form>
          ${error === undefined ? nothing : failed(error)} ${found ? drawFound(found) : nothing}
        </section>
        ${notes.render()} ${show(status, drawStatus)}
      </div>`,
  };
}) satisfies OpenView;
