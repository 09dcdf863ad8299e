/** The error for bytes or JSON that is no message of OTLP. Nothing of it can be read reliably. */
export class OtlpError extends Error {}

/** The error for one span that cannot be stored. The others of its message can. */
export class SpanFault extends Error {}
