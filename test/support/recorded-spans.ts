/** Spans of three kinds, as an OpenTelemetry exporter encodes them with protobuf: an agent, a model and a tool. In base64. */
export const recordedSpans =
  'CrsHCkYKFQoMc2VydmljZS5uYW1lEgUKA3N2YwoWCgx3YW5kYi5lbnRpdHkSBgoEdGVhbQoVCg13YW5kYi5wcm9qZWN0EgQKAnA5' +
  'EvAGCgYKBHRlc3QS7AEKEAEBAQEBAQEBAQEBAQEBAQESCAgICAgICAgIKglhZ2VudCBydW4wAzkAyk67XxySGEFAFZu7XxySGEoT' +
  'CgtpbnB1dC52YWx1ZRIECgJoaUoXCgxvdXRwdXQudmFsdWUSBwoFaGVsbG9KIgoXb3BlbmluZmVyZW5jZS5zcGFuLmtpbmQSBwoF' +
  'QUdFTlRKGwoPd2FuZGIudGhyZWFkX2lkEggKBm90ZWwtMUoTCg13YW5kYi5pc190dXJuEgIQAUoRCgNiaWcSChiVgqbvx56EkRFK' +
  'FAoEbGlzdBIMKgoKAwoBYQoDCgFiegIYARKNAwoQAQEBAQEBAQEBAQEBAQEBARIICQkJCQkJCQkiCAgICAgICAgIKgtjaGF0IGdw' +
  'dC00bzADOejNTrtfHJIYQSgZm7tfHJIYSh8KFWdlbl9haS5vcGVyYXRpb24ubmFtZRIGCgRjaGF0ShkKDWdlbl9haS5zeXN0ZW0S' +
  'CAoGb3BlbmFpSiAKFGdlbl9haS5yZXF1ZXN0Lm1vZGVsEggKBmdwdC00b0ofChlnZW5fYWkudXNhZ2UuaW5wdXRfdG9rZW5zEgIY' +
  'DEogChpnZW5fYWkudXNhZ2Uub3V0cHV0X3Rva2VucxICGANKHgoUZ2VuX2FpLnByb21wdC4wLnJvbGUSBgoEdXNlckofChdnZW5f' +
  'YWkucHJvbXB0LjAuY29udGVudBIECgJoaUonChhnZW5fYWkuY29tcGxldGlvbi4wLnJvbGUSCwoJYXNzaXN0YW50SiYKG2dlbl9h' +
  'aS5jb21wbGV0aW9uLjAuY29udGVudBIHCgVoZWxsb1oNCQDKTrtfHJIYEgJldnoCGAES5gEKEAEBAQEBAQEBAQEBAQEBAQESCAoK' +
  'CgoKCgoKIggICAgICAgICCoMdG9vbCBsb29rIHVwMAM50NFOu18ckhhBEB2bu18ckhhKIQoXb3BlbmluZmVyZW5jZS5zcGFuLmtp' +
  'bmQSBgoEVE9PTEoZCgtpbnB1dC52YWx1ZRIKCgh7InEiOiAxfUocChZsbG0udG9rZW5fY291bnQucHJvbXB0EgIYBEoXCg5sbG0u' +
  'bW9kZWxfbmFtZRIFCgNtLW9KGAoLdGVtcGVyYXR1cmUSCSEAAAAAAADgP3oNEglub3QgdGhlcmUYAg==';

/** The same spans as {@link recordedSpans} with other ids and times, compressed with gzip. In base64. */
export const recordedGzip =
  'H4sIAAAAAAACA3VTP2/TQBRv7DRNXhJIjrZxaQVuBkCVYhUEQ1mgAyBZiC6dWKyLc02O2HeufQ5qEQtiZQCBGJAY+RJ8AFa+AUhI' +
  '/JGQYIKVZ+dCaBXeYFn3fn7vfn8MbxfgJixBLWHxiPvMETRkZB7MZOTDMtTuU9HrOkworg5ICYqK0RDh9fF5FMt7zFekCEa0RX6W' +
  'IEckinwvQMM4VqTc0LVRoX0cacep2DS35p5/++WtPbO2r3+48jt7cU9BlYsoVc6IBinLpg+424KaTNX0dAHmBywIpNuGloyY4GKP' +
  'xUwghSSiwhly0csw27du3Nl1V+Hk+MZqEDPa83iPlKEkFQs6l3CdpsMTT6WxIEaj4DbB7PI+AevFozc/3r1+/LTpLkIx4EiutgFg' +
  'QoFmj+6hYRXIE3MW3aau9pR41R9QZfcj1bkskfrXl5r6hU+a+llYQmk8yh3kFFPFpRhbgspm37orUNeA5CBRLMx5IH3KXRsWdStm' +
  '+yna4ISyx4IMMd6I01c0Ik3QAidX2VNyyERCDKuGI04fAYwVnyJM98zfJWh+GCln04llkN8vxQzhitbxvi+FQru1j+fB0gAf+wHL' +
  'KeohVajQJEGNqVDuOVidBZxMm/h/t16ZJIgYbJT78Xlm/Iiuf/yoKSkDO5ByaKcRGvL+lTak8UUbsv7/dCHl3Z2d22jJkbgClB+0' +
  '99tX7YsP3TVYDoLQyfXzfJkKpWVBLYsY6RNZN3fJm/x4YUe6FlTR2jwAacxIZX0ur4/XDuukIqSy1QBvYxl/AFN7dRi+AwAA';
