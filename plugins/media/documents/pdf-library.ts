/** Types of the library that reads PDFs; only the process that reads PDFs loads it. */
export type PdfLibrary = typeof import("unpdf");
export type PdfDocument = Awaited<ReturnType<PdfLibrary["getDocumentProxy"]>>;
