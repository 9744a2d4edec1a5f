/** Entry point of the process that reads one PDF and is killed afterwards, so that no effect of a document outlives it. */
import type { PdfJob, PdfReport } from "./pdf-job.ts";
import { readPdf, reasonOf } from "./read-pdf.ts";
import { prepareRealm } from "./realm.ts";
import { startWatchdog } from "./watchdog.ts";

if (!process.send) throw new Error("worker.ts runs as a child process only");
const send = (report: PdfReport) => process.send?.(report);

prepareRealm();
const unpdf = await import("unpdf");
await startWatchdog();
process.once("message", (job: PdfJob) => {
  readPdf(job, { unpdf }).then(
    (content) => send({ kind: "read", content }),
    (thrown: unknown) => send({ kind: "refused", message: reasonOf(thrown) }),
  );
});
process.once("disconnect", () => process.exit()); // the gateway is gone
send({ kind: "ready" });
