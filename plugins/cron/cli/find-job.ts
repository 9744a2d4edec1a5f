/** Finds the job that a command line names. */
import { notFound } from "@svc/sdk";
import { type CommandContext, visible } from "@svc/sdk/cli";
import { cron, type CronJob } from "@svc/sdk/cron";
import { refuse } from "./options.ts";

type Client = Awaited<ReturnType<CommandContext["connect"]>>;

/** Most rows of one request. Spec: methods-cron.md §6, §8. */
export const PAGE = 200;
/** Choice: most pages of jobs to search. */
const MOST_PAGES = 50;
/** Most jobs that an error message lists. */
const MOST_NAMED = 10;

/** The job that the first argument names. @throws as `resolveJob` */
export async function namedJob({ args: [wanted = ""] }: CommandContext, client: Client): Promise<CronJob> {
  const jobs: CronJob[] = [];
  let offset: number | null = 0;
  for (let pages = 0; offset !== null && pages < MOST_PAGES; pages += 1) {
    const params: { enabled: "all"; limit: number; offset: number } = { enabled: "all", limit: PAGE, offset };
    const listed = await client.call(cron.list, params);
    jobs.push(...listed.jobs);
    offset = listed.nextOffset;
  }
  return resolveJob(jobs, wanted);
}

/**
 * Finds a job by its id or name, else by the unique beginning of one. Ignores case.
 * @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` listing the jobs that match
 */
export function resolveJob(jobs: readonly CronJob[], wanted: string): CronJob {
  const word = wanted.trim().toLowerCase();
  const names = ({ id, name }: CronJob) => [id.toLowerCase(), name.trim().toLowerCase()];
  const fits: readonly ((job: CronJob) => boolean)[] = [
    (job) => names(job)[0] === word,
    (job) => names(job).includes(word),
    (job) => names(job).some((name) => name.startsWith(word)),
  ];
  for (const fit of word === "" ? [] : fits) {
    const found = jobs.filter(fit);
    if (found.length > 1) {
      const lines = found.slice(0, MOST_NAMED).map(({ id, name }) => `  ${visible(id)}  ${visible(name)}`);
      const more = found.length > MOST_NAMED ? [`  and ${found.length - MOST_NAMED} more`] : [];
      return refuse(
        [`"${wanted}" matches ${found.length} jobs:`, ...lines, ...more].join("\n"),
        "give the id of one of them",
      );
    }
    if (found[0]) return found[0];
  }
  return notFound(`no job "${visible(wanted)}"\nNext: svc cron list --all`);
}
